"""Whole sources as lines: the same whatever the chunks, the workers and the damage."""

from __future__ import annotations

import json
import random

import pytest

from kcli.records import parallel_json
from kcli.records.builder import build_batch
from kcli.records.chunks import Chunk
from kcli.records.conversion import Slice
from kcli.records.parallel_json import LineForm, write_json_lines
from kcli.records.text import Findings, new_writer, write_chunk
from tests.records.vectors import good, mixed_batches


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_json, "CHUNK_BYTES", 700)
    monkeypatch.setattr(parallel_json, "STRIPE_BYTES", 600)


def lines(
    data: bytes, workers: int, full: bool = True, seekable: bool = True, size: int | None = None
) -> tuple[bytes, Findings]:
    out: list[bytes] = []
    found = write_json_lines(
        Slice.of(data).read,
        lambda text: out.append(bytes(text)),
        LineForm(full, payloads=True),
        seekable=seekable,
        workers=workers,
        size=size,
    )
    return b"".join(out), found


def at_once(data: bytes) -> bytes:
    writer = new_writer()
    write_chunk(writer, Chunk(bytearray(data), len(data), len(data), 0, True), True, True, [])
    return writer.take()


SEGMENT = b"".join(case.data for case in good() if len(case.data) < 5000)


@pytest.mark.parametrize("workers", [0, 2, 3])
def test_chunks_and_workers_change_nothing(workers: int) -> None:
    text, found = lines(SEGMENT, workers)
    assert text == at_once(SEGMENT)
    assert not found.damaged and found.batches == text.count(b"\n")


@pytest.mark.parametrize("span", [20, 333, 600, 5000])
@pytest.mark.parametrize("workers", [2, 5])
def test_stripes_change_nothing(workers: int, span: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches longer than a stripe's room are for the chunks, wherever they stand."""
    monkeypatch.setattr(parallel_json, "STRIPE_BYTES", span)
    text, found = lines(SEGMENT, workers, size=len(SEGMENT))
    assert text == at_once(SEGMENT)
    assert not found.damaged and found.batches == text.count(b"\n")


@pytest.mark.parametrize(("workers", "sized"), [(0, False), (2, False), (2, True)])
def test_lines_of_small_batches_that_unfold_to_much_are_handed_over_in_parts(workers: int, sized: bool) -> None:
    batch = build_batch([(0, None, b"x" * (30 << 20), [])], codec="zstd")
    parts: list[int] = []
    found = write_json_lines(
        Slice.of(batch * 7).read,
        lambda text: parts.append(len(text)),
        LineForm(True),
        workers=workers,
        size=7 * len(batch) if sized else None,
    )
    assert found.batches == 7 and not found.damaged
    assert sum(parts) > 7 * (30 << 20) and max(parts) < 100 << 20


@pytest.mark.parametrize("off", [-700, 700])
def test_a_file_that_shrinks_or_grows_meanwhile(off: int) -> None:
    assert lines(SEGMENT, 2, size=len(SEGMENT) + off)[0] == at_once(SEGMENT)


def test_what_chunks_find_after_stripes_is_counted_once() -> None:
    data = bytearray(SEGMENT)
    data[len(data) // 2] ^= 1
    found = [lines(bytes(data), workers, size=size)[1] for workers, size in ((0, None), (2, None), (2, len(data)))]
    assert found[0].damaged
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("seed", range(12))
def test_damage_costs_no_batch_more_than_it_has_to(seed: int) -> None:
    """What was guessed behind the damage is read again from where sound batches go on."""
    chance = random.Random(seed)
    data = bytearray(SEGMENT)
    for _ in range(seed % 3 + 1):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    if seed % 4 == 0:
        del data[-chance.randrange(1, 60) :]
    texts = {lines(bytes(data), workers, size=size)[0] for workers, size in ((0, None), (2, None), (2, len(data)))}
    assert len(texts) == 1
    sound = {json.dumps(row) for row in map(json.loads, at_once(SEGMENT).splitlines())}
    read = [json.dumps(row) for row in map(json.loads, texts.pop().splitlines())]
    assert len(sound) - len(sound & set(read)) <= seed % 3 + 2


def test_a_cut_batch_behind_a_longer_chunk_is_not_taken_for_whole() -> None:
    """The buffer still has older bytes behind what was read last."""
    data = (mixed_batches() * 3)[:-20]
    rows = [json.loads(line) for line in lines(data, 0)[0].splitlines()]
    assert rows[-1]["event"] == "truncated" and rows[-1]["bytes"] == 58


def test_a_pipe_is_read_in_order() -> None:
    position = 0

    def read(into: memoryview, at: int) -> int:
        nonlocal position
        assert at == position
        part = SEGMENT[at : at + min(len(into), 333)]
        into[: len(part)] = part
        position += len(part)
        return len(part)

    out: list[bytes] = []
    write_json_lines(read, lambda text: out.append(bytes(text)), LineForm(True, payloads=True), seekable=False)
    assert b"".join(out) == at_once(SEGMENT)


def test_an_error_in_a_hook_is_raised() -> None:
    def fails(_key: bytes | None, _value: bytes | None) -> bytes:
        raise ZeroDivisionError

    for workers, size in ((0, None), (2, None), (2, len(SEGMENT))):
        with pytest.raises(ZeroDivisionError):
            form = LineForm(True, record=fails)
            write_json_lines(Slice.of(SEGMENT).read, lambda _: None, form, workers=workers, size=size)


@pytest.mark.parametrize("size", [None, len(SEGMENT)])
def test_progress_reaches_the_end(size: int | None) -> None:
    seen: list[int] = []
    write_json_lines(
        Slice.of(SEGMENT).read, lambda _: None, LineForm(False), progress=seen.append, workers=2, size=size
    )
    assert seen == sorted(seen) and seen[-1] == len(SEGMENT)
