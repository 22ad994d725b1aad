"""Leader epochs: where each ends (KIP-101's table)."""

from pathlib import Path

import pytest

from kcli.broker.storage.epochs import LeaderEpochs


@pytest.fixture
def epochs(tmp_path: Path) -> LeaderEpochs:
    made = LeaderEpochs(tmp_path)
    for epoch, start in ((2, 0), (3, 10), (3, 15), (7, 30)):
        made.assign(epoch, start)
    return made


@pytest.mark.parametrize(
    ("asked", "end"),
    [
        (-1, (-1, -1)),
        (1, (1, 0)),
        (2, (2, 10)),
        (3, (3, 30)),
        (5, (3, 30)),
        (7, (7, 40)),
        (8, (7, 40)),
        (9, (9, 50)),
        (10, (-1, -1)),
    ],
)
def test_ends(epochs: LeaderEpochs, asked: int, end: tuple[int, int]) -> None:
    """The log ends at 50; the leader is in epoch 9, of which there is nothing yet."""
    found = epochs.end_of(asked, 50, 9)
    assert found == (end if asked not in (7, 8) else (7, 50))


def test_they_are_on_disk_once_they_are_saved(epochs: LeaderEpochs, tmp_path: Path) -> None:
    """The first of a new leader's records do not wait for the file."""
    file = tmp_path / "leader-epoch-checkpoint"
    assert file.read_text() == "0\n1\n2 0\n"
    epochs.save()
    assert file.read_text() == "0\n3\n2 0\n3 10\n7 30\n"
    file.unlink()
    epochs.save()
    assert not file.exists(), "written again without need"
    epochs.assign(8, 40)
    epochs.save()
    again = LeaderEpochs(tmp_path)
    again.load()
    assert again.entries == epochs.entries


def test_the_log_grows_shorter(epochs: LeaderEpochs) -> None:
    epochs.truncate_start(12)
    assert epochs.entries == [(3, 12), (7, 30)]
    epochs.truncate_end(30)
    assert epochs.entries == [(3, 12)]
    assert epochs.epoch_of(13) == 3
    assert epochs.epoch_of(5) == -1
