from pathlib import Path

import pytest

from kcli.errors import InputError, UsageError
from kcli.snapshots.reading.api import Wanted, apart, load_image, parse_wanted, read_snapshot
from tests.capture.wires import SAMPLES
from tests.snapshots.files import LAST_431, damaged, log_file, partition_folder

FOLDER = str(partition_folder("431-single/n1"))
FILE = str(log_file(LAST_431))


def test_a_path_with_an_offset() -> None:
    assert parse_wanted("dir@12") == Wanted("dir", None, 12)
    assert parse_wanted("user@host") == Wanted("user@host")
    assert parse_wanted(FILE) == Wanted(FILE)


@pytest.mark.parametrize(
    ("wanted", "end", "files"),
    [
        (Wanted(FILE), 1600, 1),
        (Wanted(FOLDER), 1602, 2),
        (Wanted(FILE, FOLDER), 1602, 2),
        (Wanted(FOLDER, None, 1600), 1600, 1),
        (Wanted(FOLDER, None, 1007), 1007, 2),
        (Wanted(FOLDER, None, 1000), 956, 2),
        (Wanted(FOLDER, None, 45), 45, 2),
        (Wanted(FOLDER, None, 700), 641, 5),
        (Wanted(FOLDER, None, 952, before=952), 952, 5),
    ],
)
def test_what_is_read(wanted: Wanted, end: int, files: int) -> None:
    loaded = load_image(wanted, strict=True)
    assert loaded.loader.image.provenance.end_offset == end
    assert len(loaded.sources) == files
    assert loaded.seconds > 0
    text = f"offset {wanted.at_offset} lies inside the batch of {end} to "
    assert end == wanted.at_offset or wanted.at_offset is None or str(loaded.note).startswith(text)


def test_two_ways_to_one_offset() -> None:
    """A directory at the offset of its own snapshot is another state than that file: the one that the log makes."""
    file = str(Path(FOLDER) / "00000000000000000952-0000000001.checkpoint")
    assert apart(Wanted(file), Wanted(FOLDER, None, 952)) == [Wanted(file), Wanted(FOLDER, None, 952, before=952)]
    assert apart(Wanted(FOLDER, None, 952), Wanted(file))[0].before == 952
    by_time = Wanted(FOLDER, at_time=1795223734398)  # of the last batch before 952
    assert apart(Wanted(file), by_time) == [Wanted(file), Wanted(FOLDER, None, 952, before=952)]
    for other in (Wanted(FOLDER, None, 953), Wanted(FOLDER), Wanted(str(partition_folder("440-three/n1")), None, 952)):
        assert apart(Wanted(file), other) == [Wanted(file), other]
    late = partition_folder("440-three/n1")
    first = sorted(late.glob("*.checkpoint"))[0]
    with pytest.raises(InputError, match=r"no log leads to offset 2555 but from 0+2555-0+1\.checkpoint itself"):
        apart(Wanted(str(first)), Wanted(str(late), None, 2555))


def test_what_can_t_be_reached() -> None:
    with pytest.raises(InputError, match="offset 9999 is not reached"):
        load_image(Wanted(FOLDER, None, 9999))
    with pytest.raises(UsageError, match="past --at-offset 5"):
        load_image(Wanted(FILE, None, 5))
    late = str(partition_folder("440-three/n1"))
    with pytest.raises(InputError, match="the log begins at 2440"):
        load_image(Wanted(late, None, 2450))
    with pytest.raises(InputError, match="neither a snapshot nor a log segment"):
        load_image(Wanted(str(partition_folder("440-three/n1").parent / "dump")))


def test_damage_names_its_file() -> None:
    path = str(damaged("orphan-partition"))
    with pytest.raises(InputError, match=path):
        load_image(Wanted(path), strict=True)
    assert load_image(Wanted(path)).loader.problems


def test_an_image_for_programs(tmp_path: Path) -> None:
    alone, whole = read_snapshot(FILE), read_snapshot(Path(FOLDER))
    assert (alone.provenance.end_offset, whole.provenance.end_offset) == (1600, 1602)
    with Path(FILE).open("rb") as opened:
        assert read_snapshot(opened).provenance == alone.provenance
    assert read_snapshot(FOLDER, at_offset=45).provenance.end_offset == 45
    assert read_snapshot(FILE, log=Path(FOLDER)).provenance == whole.provenance
    assert repr(alone).startswith("<Image up to offset 1600: metadata.version ")
    assert "<th style='text-align:left'>topics</th>" in alone._repr_html_()
    assert repr(alone.sorted_topics()[0]).startswith("<Topic '")
    with pytest.raises(InputError, match="none: No such file or directory"):
        read_snapshot(tmp_path / "none")
    with pytest.raises(UsageError, match="one snapshot or directory expected"):
        read_snapshot([FILE, FILE])


def test_another_kind_of_file_is_named() -> None:
    path = SAMPLES / "java44-txn.pcap"
    with path.open("rb") as file:
        for given in (path, file):
            with pytest.raises(InputError, match=r"java44-txn.pcap: no snapshot \(looks like a capture"):
                read_snapshot(given)
