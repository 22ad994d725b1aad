"""Record batches to offer to a broker: sound ones, and such as people make by mistake; and damage by chance."""

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kcli.core.records.batches import CRC_AT, CRC_START, HEADER_SIZE, LENGTH_END, SIZE_AT
from kcli.core.records.crc import crc32c
from kcli.errors import InputError
from kcli.grammar.batches import BATCH_HEADER
from kcli.grammar.words.fixed import fixed_layout
from kcli.records import build_batch, build_marker, build_message_set, scan
from kcli.records.codecs import compress, decompress
from tests.records import vectors

__all__ = ["BatchCase", "by_hand", "mutated", "of_vectors"]

HEADER = fixed_layout(BATCH_HEADER)
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
Rows = list[tuple[int, bytes | None, bytes | None, dict[str, bytes | None]]]


class BatchCase(NamedTuple):
    """What stands in the records field of a Produce request."""

    name: str
    records: bytes
    version: int = 9


def sealed(data: bytes | bytearray) -> bytes:
    """The batch with the size and the checksum that its bytes have."""
    out = bytearray(data)
    out[SIZE_AT:LENGTH_END] = (len(out) - LENGTH_END).to_bytes(4, "big")
    out[CRC_AT:CRC_START] = crc32c(memoryview(out)[CRC_START:]).to_bytes(4, "big")
    return bytes(out)


def changed(data: bytes, seal: bool = True, /, **fields: int) -> bytes:
    """The batch with other values in its header."""
    out = bytearray(data)
    HEADER.put(out, **fields)
    return sealed(out) if seal else bytes(out)


def rows(count: int) -> Rows:
    return [(1_700_000_000_000 + n, b"k%d" % n, b"value %d" % n, {"h": b"x"} if n % 2 else {}) for n in range(count)]


def with_payload(data: bytes, change: Callable[[bytearray], bytes | bytearray]) -> bytes:
    """The batch with other records, compressed again as they were."""
    codec = data[CRC_START + 1] & 7
    inner = bytearray(decompress(codec, data[HEADER_SIZE:], 2))
    return sealed(data[:HEADER_SIZE] + bytes(compress(codec, bytes(change(inner)), 2)))


def by_hand() -> Iterator[BatchCase]:
    """One rule after another, for each codec."""
    for codec in CODECS:
        sound = build_batch(rows(3), codec=codec)
        one = build_batch(rows(1), codec=codec)
        fields: dict[str, dict[str, int]] = {
            "sound": {},
            "count 2 of 3": {"recordCount": 2},
            "count 4 of 3": {"recordCount": 4},
            "count 0": {"recordCount": 0},
            "count -1": {"recordCount": -1},
            "count and last 2 of 3": {"recordCount": 2, "lastOffsetDelta": 1},
            "count and last 4 of 3": {"recordCount": 4, "lastOffsetDelta": 3},
            "last offset delta 1": {"lastOffsetDelta": 1},
            "last offset delta 3": {"lastOffsetDelta": 3},
            "last offset delta -1": {"lastOffsetDelta": -1},
            "base offset 7": {"baseOffset": 7},
            "base offset -1": {"baseOffset": -1},
            "leader epoch 4": {"partitionLeaderEpoch": 4},
            "magic 3": {"magic": 3},
            "magic -1": {"magic": -1},
            "magic 1": {"magic": 1},
            "max timestamp too low": {"maxTimestamp": 5},
            "max timestamp -1": {"maxTimestamp": -1},
            "base timestamp -5": {"baseTimestamp": -5},
            "transactional": {"attributes": sound[CRC_START + 1] | 16},
            "control": {"attributes": sound[CRC_START + 1] | 32},
            "append time": {"attributes": sound[CRC_START + 1] | 8},
            "delete horizon": {"attributes": sound[CRC_START + 1] | 64},
            "unused bits": {"attributes": sound[CRC_START + 1] | 0x7F80},
            "producer": {"producerId": 5, "producerEpoch": 0, "baseSequence": 0},
            "producer without epoch": {"producerId": 5, "baseSequence": 0},
            "producer without sequence": {"producerId": 5, "producerEpoch": 0},
            "producer -2": {"producerId": -2, "producerEpoch": 0, "baseSequence": 0},
            "sequence without producer": {"baseSequence": 5},
            "transactional producer": {
                "attributes": sound[CRC_START + 1] | 16,
                "producerId": 5,
                "producerEpoch": 0,
                "baseSequence": 0,
            },
        }
        for name, change in fields.items():
            yield BatchCase(f"{codec}: {name}", changed(sound, **change))
        for other in range(8):
            marked = sound[CRC_START + 1] & 0xF8 | other
            yield BatchCase(f"{codec}: bits of codec {other}", changed(sound, attributes=marked))
        yield BatchCase(f"{codec}: one", one)
        yield BatchCase(f"{codec}: wrong checksum", changed(sound, False, crc=1))
        yield BatchCase(f"{codec}: wrong length", changed(sound, False, batchLength=len(sound) - 13))
        yield BatchCase(f"{codec}: length 48", changed(sound, False, batchLength=48))
        yield BatchCase(f"{codec}: length 13", changed(sound, False, batchLength=13))
        yield BatchCase(f"{codec}: length too far", changed(sound, False, batchLength=len(sound)))
        yield BatchCase(f"{codec}: twice", sound * 2)
        yield BatchCase(f"{codec}: a tail of 5", sound + b"\0" * 5)
        yield BatchCase(f"{codec}: a tail of 30", sound + b"\0" * 30)
        yield BatchCase(f"{codec}: cut", sound[:-1])
        yield BatchCase(f"{codec}: a byte behind the records", with_payload(sound, lambda inner: inner + b"\0"))
        yield BatchCase(f"{codec}: 30 bytes behind the records", with_payload(sound, lambda inner: inner + b"\2" * 30))
        yield BatchCase(f"{codec}: records cut", with_payload(sound, lambda inner: inner[:-1]))
        yield BatchCase(f"{codec}: raw payload longer", sealed(sound + b"\0"))
        yield BatchCase(f"{codec}: raw payload cut", sealed(sound[:-1]))
        yield BatchCase(f"{codec}: no payload", sealed(sound[:HEADER_SIZE]))
        yield BatchCase(f"{codec}: no payload, no records", changed(sound[:HEADER_SIZE], recordCount=0))
        # The first record: length, attributes, timestamp delta, offset delta, key length, key, value length, value.
        for at, name in enumerate(("length", "attributes", "timestamp delta", "offset delta", "key length")):
            for step in (1, 2, -2, 40):
                changed_at = patched(at, step)
                yield BatchCase(f"{codec}: {name} {step:+}", with_payload(sound, changed_at))
        for step in (2, -2, 40, -18):
            yield BatchCase(f"{codec}: value length {step:+}", with_payload(sound, patched(7, step)))
        yield BatchCase(f"{codec}: header count +2", with_payload(one, patched(-1, 2)))
        yield BatchCase(f"{codec}: header count -1", with_payload(one, patched(-1, 1)))
        gap = build_batch(rows(3), codec=codec, offsets=[0, 2, 5])
        yield BatchCase(f"{codec}: gaps", gap)
        yield BatchCase(f"{codec}: gaps, last 2", changed(gap, lastOffsetDelta=2))
        backward = build_batch(rows(3), codec=codec, offsets=[2, 1, 0])
        yield BatchCase(f"{codec}: offsets backward", changed(backward, lastOffsetDelta=2))
        same = build_batch(rows(3), codec=codec, offsets=[0, 0, 0])
        yield BatchCase(f"{codec}: same offsets", changed(same, lastOffsetDelta=2))
        yield BatchCase(f"{codec}: in v3", sound, 3)
        yield BatchCase(f"{codec}: in v6", sound, 6)
        yield BatchCase(f"{codec}: in v7", sound, 7)
    yield BatchCase("nothing", b"")
    yield BatchCase("12 bytes", bytes(12))
    yield BatchCase("100 zero bytes", bytes(100))
    yield BatchCase("commit", build_marker(True, 1, 0, 5, 0, 0))
    yield BatchCase("null key header", with_payload(build_batch([(1, b"k", b"v", {"a": b"b"})]), null_header_key))
    for magic in (0, 1):
        for codec in CODECS[:4]:
            messages = build_message_set([(1, b"k", b"v")] * 2, magic=magic, codec=codec)
            yield BatchCase(f"magic {magic} {codec}", messages)


def patched(at: int, step: int) -> Callable[[bytearray], bytearray]:
    """What adds to the byte at a place."""

    def change(inner: bytearray) -> bytearray:
        inner[at] = (inner[at] + step) % 256
        return inner

    return change


def null_header_key(inner: bytearray) -> bytearray:
    inner[inner.rindex(b"a") - 1] = 1
    return inner


def of_vectors() -> Iterator[BatchCase]:
    """Each vector as a whole, and each batch of it by itself, as it is and as a producer would send it."""
    for case in [*vectors.good(), *vectors.bad()]:
        if len(case.data) > 900_000:
            continue
        yield BatchCase(f"{case.name}: whole", case.data)
        for index, batch in enumerate(scan(case.data, damages=[])):
            if index == 4:
                break
            data = bytes(batch.bytes)
            yield BatchCase(f"{case.name}: batch {index}", data)
            if batch.magic >= 2:
                yield BatchCase(f"{case.name}: batch {index} from 0", changed(data, False, baseOffset=0))
            else:
                yield BatchCase(f"{case.name}: batch {index} in v3", data, 3)


def mutated(seed: int, count: int) -> Iterator[BatchCase]:
    """Sound batches, by chance, with some bytes changed, most of them with the right checksum all the same."""
    chance = random.Random(seed)
    for number in range(count):
        data = build_batch(
            rows(chance.randint(1, 5)),
            codec=chance.choice(CODECS),
            **chance.choice([{}, {}, {"producer_id": 1000 + number, "producer_epoch": 0, "base_sequence": 0}]),  # type: ignore[arg-type]
        )
        for _ in range(chance.randint(1, 3)):
            data = mutate(data, chance)
        yield BatchCase(f"mutated {seed}.{number}", data)


def mutate(data: bytes, chance: random.Random) -> bytes:
    kind = chance.randrange(5)
    out = bytearray(data)
    if kind == 0 and len(out) > HEADER_SIZE:
        at = chance.randrange(HEADER_SIZE, len(out))
        out[at] ^= 1 << chance.randrange(8)
        return sealed(out)
    if kind == 1:
        at = chance.randrange(CRC_START, min(len(out), HEADER_SIZE))
        out[at] ^= 1 << chance.randrange(8)
        return sealed(out)
    if kind == 2:
        at = chance.randrange(len(out))
        out[at] = chance.choice([0, 1, 127, 128, 255, out[at] ^ 1])
        return bytes(out)
    if kind == 3 and len(out) > HEADER_SIZE and out[CRC_START + 1] & 7 < 5:
        try:
            return with_payload(data, patched(chance.randrange(-3, 12), chance.choice([1, 2, -1, -2, 16])))
        except (InputError, IndexError):  # damaged before
            return data
    at = chance.randrange(HEADER_SIZE, len(out) + 1) if len(out) > HEADER_SIZE else len(out)
    return sealed(out[:at] + chance.choice([b"", b"\0", b"\2\2", bytes(out[at:])]))
