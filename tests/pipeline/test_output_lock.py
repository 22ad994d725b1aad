"""One run at a time writes to an output folder."""

import dataclasses
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kcli.errors import InputError
from kcli.jsontext import dumps
from kcli.pipeline import output_lock as module
from kcli.pipeline.output_lock import HeldError, Holder, holding

CLAIMS = Path("_kcli") / "holders"
HERE = Holder.current()


def claims(output: Path) -> list[Path]:
    return sorted((output / CLAIMS).glob("*.json"))


def leave_claim(output: Path, holder: Holder | None, name: str = "00000000000000000001-a.json") -> Path:
    """As a run does that is still at work, or has died."""
    path = output / CLAIMS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}" if holder is None else dumps(dataclasses.asdict(holder)))
    return path


def test_a_claim_goes_with_its_run(tmp_path: Path) -> None:
    for _ in range(2):
        with holding(str(tmp_path)):
            assert len(claims(tmp_path)) == 1
        assert claims(tmp_path) == []
    with pytest.raises(ZeroDivisionError), holding(str(tmp_path)):
        raise ZeroDivisionError
    assert claims(tmp_path) == []
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file: a file; the name of a folder"), holding(str(tmp_path / "file")):
        pass


def test_the_second_is_told_who_the_first_is(tmp_path: Path) -> None:
    with holding(str(tmp_path)):
        with pytest.raises(HeldError) as caught, holding(str(tmp_path)):
            pass
        assert f"{tmp_path}: another run writes to it, process {os.getpid()} on {HERE.host}, since 20" in str(
            caught.value
        )
        assert caught.value.exit_code == 4
        assert len(claims(tmp_path)) == 1


def test_of_many_at_once_one_works(tmp_path: Path) -> None:
    ready = threading.Barrier(6)
    outcomes: list[str] = []

    def work() -> None:
        ready.wait()
        try:
            with holding(str(tmp_path)):
                over.wait(120)
            outcomes.append("worked")
        except HeldError:
            outcomes.append("gave way")
            if len(outcomes) == 5:
                over.set()

    over = threading.Event()
    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["gave way"] * 5 + ["worked"]


def test_a_run_that_waits_takes_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = leave_claim(tmp_path, HERE)
    said: list[str] = []

    def pause(_seconds: float) -> None:
        if len(said) == 1 and claim.exists():
            claim.unlink()

    monkeypatch.setattr("time.sleep", pause)
    with holding(str(tmp_path), wait=True, notify=said.append):
        assert len(claims(tmp_path)) == 1
    assert len(said) == 1
    assert said[0].endswith("waiting for it")


def test_a_process_that_has_ended_holds_nothing(tmp_path: Path) -> None:
    program = "import os, sys; from kcli.pipeline.output_lock import holding\nwith holding(sys.argv[1]): os._exit(0)"
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert len(claims(tmp_path)) == 1
    with holding(str(tmp_path)):
        assert len(claims(tmp_path)) == 1


@pytest.mark.parametrize(
    ("changes", "gone"),
    [
        ({}, False),
        ({"started": 1}, True),  # another process has that id now
        ({"pid": 1 << 22, "started": 5}, True),
        ({"pid": 1 << 22, "started": 0}, True),
        ({"boot": "an earlier one", "machine": "m"}, True),
        ({"boot": "an earlier one", "machine": ""}, False),  # two machines may have one name
        ({"host": "elsewhere", "pid": 1 << 22}, False),
        ({"machine": "another", "pid": 1 << 22}, False),
        ({"space": "a container's", "pid": 1 << 22}, False),
    ],
)
def test_who_is_gone(changes: dict[str, object], gone: bool) -> None:
    here = dataclasses.replace(HERE, machine="" if changes.get("machine") == "" else "m", boot=HERE.boot or "b")
    assert dataclasses.replace(here, **changes).is_gone(here) is gone  # type: ignore[arg-type]


def test_without_proc_the_process_id_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "first_line", lambda _: "")
    monkeypatch.setattr(module, "pid_space", lambda: "")
    monkeypatch.setattr(module, "started", lambda _: 0)
    here = Holder.current()
    assert not here.is_gone(here)
    assert dataclasses.replace(here, pid=1 << 22).is_gone(here)


@pytest.mark.parametrize("holder", [dataclasses.replace(HERE, host="elsewhere"), None])
def test_of_a_run_that_cannot_be_looked_after_the_claim_is_named(tmp_path: Path, holder: Holder | None) -> None:
    claim = leave_claim(tmp_path, holder)
    with pytest.raises(HeldError, match=f"if that is dead, remove {claim}"), holding(str(tmp_path)):
        pass
    assert claim.exists()


def test_a_claim_that_does_not_give_way_prevails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose clock is ahead was there first."""
    leave_claim(tmp_path, HERE, "99999999999999999999-a.json")
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    with pytest.raises(HeldError), holding(str(tmp_path)):
        pass
