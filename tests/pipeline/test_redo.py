"""Captures that come late, have grown or are gone: the rows are those of one decode, as far as that can be."""

import os
from pathlib import Path

import pytest

from kcli.pipeline.journal import Journal
from tests.capture.wires import Packet, packets_of, pcap
from tests.pipeline.outputs import assert_decoded, rows_of, run_here, unaccounted
from tests.pipeline.test_run import rotated, told

KEYS = ("connection", "correlation_id", "api_key", "request", "response", "request_bytes", "response_bytes")


def said(output: Path) -> list[str]:
    """What exchanges say, without their times."""
    return sorted(str([row[key] for key in KEYS]) for row in rows_of(output, "exchanges"))


@pytest.mark.parametrize("order", [(1, 0), (2, 0, 1), (0, 2, 1)])
def test_rotated_captures_in_any_order_over_runs(
    order: tuple[int, ...], samples: Path, tmp_path: Path, output: Path
) -> None:
    name = "java44-consume-classic.pcap"
    paths = rotated(samples, tmp_path, len(order), name)
    for number in order:
        run_here([paths[number]], output)
        assert unaccounted(output) == 0
    assert_decoded(output, [samples / name])
    run_here([samples / name], tmp_path / "whole")
    assert told(output) == told(tmp_path / "whole")


def test_both_ends_of_connections_in_two_runs_count_once(samples: Path, tmp_path: Path, output: Path) -> None:
    """The other host's clock is 37 ms behind; the file has another name, and other link-layer bytes."""
    name = samples / "java44-txn.pcap"
    other = tmp_path / "other.pcap"
    seen = [Packet(p.ns + 37_000_000, bytes(range(12)) + p.data[12:], p.length) for p in packets_of(name)]
    other.write_bytes(pcap(seen, nano=True))
    run_here([name], output)
    alone = said(output)
    made = run_here([other], output)
    assert (made.redone, made.notes) == ([1], [])
    assert said(output) == alone
    assert unaccounted(output) == 0
    again = run_here([name, other], output)
    assert (again.files, again.skipped) == (0, 2)


def test_a_capture_that_has_grown_is_read_on(samples: Path, tmp_path: Path, output: Path) -> None:
    whole = (samples / "java44-txn.pcap").read_bytes()
    path = tmp_path / "growing.pcap"
    path.write_bytes(whole[: len(whole) // 2])
    first = run_here([path], output)
    assert "ends in the middle of a packet" in first.problems[0]
    path.write_bytes(whole)
    made = run_here([path], output)
    assert (made.redone, made.problems) == ([1], [])
    assert_decoded(output, [path])
    assert unaccounted(output) == 0
    path.write_bytes(whole[:-100])
    assert "has changed since it was read" in run_here([path], output).problems[0]


def test_a_late_capture_that_has_grown_is_read_on(samples: Path, tmp_path: Path, output: Path) -> None:
    """A run before it has read further; rows of what was open at its end went with the run that is done again."""
    name = "kcat-codecs.pcap"
    paths = rotated(samples, tmp_path, 3, name)
    whole = paths[0].read_bytes()
    run_here([paths[1]], output)
    paths[0].write_bytes(whole[: len(whole) // 2])
    assert run_here([paths[0]], output).redone == []
    paths[0].write_bytes(whole)
    assert run_here([paths[0]], output).problems == []
    run_here([paths[2]], output)
    assert_decoded(output, [samples / name])
    assert unaccounted(output) == 0


def test_a_capture_that_was_written_anew_in_as_many_bytes_is_told(samples: Path, tmp_path: Path, output: Path) -> None:
    path = tmp_path / "ring.pcap"
    path.write_bytes((samples / "java44-txn.pcap").read_bytes())
    run_here([path], output)
    os.utime(path, (9, 9))
    assert run_here([path], output).problems == [], "a copy is the same whenever it was made"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    os.utime(path, (9, 9))
    assert run_here([path], output).problems == [f"{path}: has changed since it was read, not read again"]


@pytest.mark.parametrize("packets", [3, 12, 20])
def test_what_is_late_of_a_connection_whose_end_was_not_known_to_be_kafka_s(
    packets: int, samples: Path, tmp_path: Path, output: Path
) -> None:
    """A few packets at the end of a capture, read first: responses to nothing, or bytes that wait for missing ones."""
    whole = samples / "sasl-plain-scram.pcap"
    seen = packets_of(whole)
    first, last = tmp_path / "first.pcap", tmp_path / "last.pcap"
    first.write_bytes(pcap(seen[:-packets], nano=True))
    last.write_bytes(pcap(seen[-packets:], nano=True))
    run_here([last], output)
    assert run_here([first], output).redone == [1]
    assert_decoded(output, [whole])
    assert unaccounted(output) == 0


def test_damage_of_no_connection_does_not_matter_to_what_is_late(samples: Path, tmp_path: Path, output: Path) -> None:
    """A file that ends in the middle of a packet has a row that is of none."""
    paths = rotated(samples, tmp_path, 2)
    for path in paths:
        path.write_bytes(path.read_bytes()[:-9])
    run_here([paths[1]], output)
    assert None in {row["connection"] for row in rows_of(output, "undecodable")}
    assert run_here([paths[0]], output).redone == [1]
    assert_decoded(output, paths)


def test_captures_that_are_gone_are_not_read_again(samples: Path, tmp_path: Path, output: Path) -> None:
    paths = rotated(samples, tmp_path, 2)
    run_here([paths[1]], output)
    paths[1].unlink()
    made = run_here([paths[0]], output)
    assert made.redone == []
    assert f"{paths[1]}: gone or changed since run 1" in made.notes[0]
    assert unaccounted(output) == 0


def test_what_comes_late_of_other_connections_stands_beside(samples: Path, output: Path) -> None:
    for name in ("java44-txn.pcap", "java44-consume-classic.pcap", "kcat-codecs.pcap"):
        assert run_here([samples / name], output).redone == []
    assert len(Journal(str(output)).entries) == 3


def test_runs_are_done_again_from_what_was_open_before_them(
    samples: Path, tmp_path: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only those that have read further; a run that dies on the way leaves all as it was."""
    paths = rotated(samples, tmp_path, 5)
    for number in (0, 1, 3, 4):
        run_here([paths[number]], output)
    before = told(output), said(output)
    with monkeypatch.context() as dying:
        dying.setattr(Journal, "commit", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run_here([paths[2]], output)
    assert (told(output), said(output)) == before
    assert run_here([paths[2]], output).redone == [3, 4]
    assert_decoded(output, [samples / "java44-txn.pcap"])
    assert unaccounted(output) == 0
