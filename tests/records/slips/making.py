"""Slips made on purpose in batches: right batches of magic 2, written again with one thing done wrong."""

from __future__ import annotations

import contextlib
import random
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import kcli
from kcli.core.records.crc import crc32c
from kcli.errors import InputError
from kcli.records.batches import Batch, Record, scan
from kcli.records.codecs import compress
from tests.grammar.slips.making import varint

HEADER, CRC, COVERED = 61, 17, 21  # offsets
FIELDS = {  # of the header: start, bytes
    "baseOffset": (0, 8),
    "partitionLeaderEpoch": (12, 4),
    "lastOffsetDelta": (23, 4),
    "baseTimestamp": (27, 8),
    "maxTimestamp": (35, 8),
    "producerId": (43, 8),
    "producerEpoch": (51, 2),
    "baseSequence": (53, 4),
}
LATER = [name for name in FIELDS if FIELDS[name][0] > CRC]


class Made(NamedTuple):
    """A batch with a slip: its kind and byte."""

    kind: str
    at: int
    batch: bytes


Number = Callable[[str, int, int], bytes]  # (field, record, value) -> the bytes that are written


def zigzag(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def right(name: str, record: int, value: int) -> bytes:
    return zigzag(value)


class Written(NamedTuple):
    """Records as bytes, and where each number of each record stands."""

    data: bytes
    places: dict[tuple[str, int], int]


def write(batch: Batch, records: list[Record], number: Number = right) -> Written:
    out, places = b"", dict[tuple[str, int], int]()
    for index, record in enumerate(records):
        body, inside = b"\0", dict[str, int]()

        def put(name: str, value: int, index: int = index, inside: dict[str, int] = inside) -> None:
            nonlocal body
            inside.setdefault(name, len(body))
            body += number(name, index, value)

        def sized(name: str, data: bytes | None) -> None:
            nonlocal body
            put(name, -1 if data is None else len(data))
            body += data or b""

        put("timestampDelta", record.timestamp - batch.base_timestamp)
        put("offsetDelta", record.offset - batch.base_offset)
        sized("key", record.key)
        sized("value", record.value)
        put("headers", len(record.headers))
        for key, value in record.headers:
            sized("headers.key", key.encode())
            sized("headers.value", value)
        places["length", index] = len(out)
        length = number("length", index, len(body))
        places |= {(name, index): len(out) + len(length) + at for name, at in inside.items()}
        out += length + body
    return Written(out, places)


def batch_bytes(pairs: list[tuple[bytes | None, bytes | None]], codec: int = 0, time: int = 1_700_000_000_000) -> bytes:
    """A right batch of keys and values, as a producer writes it."""
    header = bytes(8) + bytes(4) + b"\xff" * 4 + b"\2" + bytes(4) + codec.to_bytes(2, "big")
    header += (len(pairs) - 1).to_bytes(4, "big") + time.to_bytes(8, "big") * 2 + b"\xff" * 14
    payload = b""
    for index, (key, value) in enumerate(pairs):
        body = b"\0\0" + zigzag(index) + sized_bytes(key) + sized_bytes(value) + b"\0"
        payload += zigzag(len(body)) + body
    return checked(with_length(header + len(pairs).to_bytes(4, "big") + bytes(compress(codec, payload))))


def sized_bytes(data: bytes | None) -> bytes:
    return zigzag(-1) if data is None else zigzag(len(data)) + data


class Sample:
    """A right batch, in one piece, and its records."""

    def __init__(self, batch: Batch) -> None:
        self.batch, self.records = batch, [*batch.records()]
        self.data = bytes(batch.bytes)

    def whole(self, payload: bytes, *, header: bytes | None = None) -> bytes:
        """The batch with other records, its length and checksum set."""
        head = header or self.data[:HEADER]
        return checked(with_length(head + bytes(compress(self.batch.codec, payload))))

    def place(self, at: int) -> int:
        return HEADER if self.batch.codec else HEADER + at


def put(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def with_length(batch: bytes) -> bytes:
    return put(batch, 8, (len(batch) - 12).to_bytes(4, "big"))


def checked(batch: bytes) -> bytes:
    return put(batch, CRC, crc32c(batch[COVERED:]).to_bytes(4, "big"))


def maybe_checked(batch: bytes, chance: random.Random) -> bytes:
    """The checksum of what is written, or of what was to be."""
    return checked(batch) if chance.random() < 0.5 else batch


def checksum(sample: Sample, chance: random.Random) -> Made | None:
    data, blank = sample.data, put(sample.data, CRC, bytes(4))
    crcs = [
        zlib.crc32(data[COVERED:]),
        *(each(blank[at:]) for at in (0, 12, 16, 17, 61) for each in (zlib.crc32, crc32c)),
    ]
    crcs.append(int.from_bytes(crc32c(data[COVERED:]).to_bytes(4, "big"), "little"))
    if sample.batch.codec:
        crcs.append(crc32c(data[COVERED:HEADER] + write(sample.batch, sample.records).data))
    start, size = FIELDS[chance.choice(LATER)]
    crcs.append(crc32c(put(data, start, chance.choice([b"\0", b"\xff"]) * size)[COVERED:]))
    return Made("checksum", CRC, put(data, CRC, chance.choice(crcs).to_bytes(4, "big")))


def length(sample: Sample, chance: random.Random) -> Made | None:
    size = len(sample.data) - 12
    said = chance.choice([(size + n).to_bytes(4, "big") for n in (12, 4, 8, -49)] + [size.to_bytes(4, "little")])
    return Made("length", 8, put(sample.data, 8, said))


def magic(sample: Sample, chance: random.Random) -> Made | None:
    data = sample.data
    orders = [data[:12] + b"\2" + data[12:16] + data[17:], data[:16] + data[17:21] + b"\2" + data[21:]]
    return Made("magic", 16, chance.choice(orders))


def count(sample: Sample, chance: random.Random) -> Made | None:
    made = put(sample.data, 57, (len(sample.records) + chance.choice([1, -1])).to_bytes(4, "big"))
    return Made("count", 57, maybe_checked(made, chance))


def last_delta(sample: Sample, chance: random.Random) -> Made | None:
    made = put(sample.data, 23, (len(sample.records) - 1 + chance.choice([1, 2])).to_bytes(4, "big"))
    return Made("last offset delta", 23, maybe_checked(made, chance))


def codec(sample: Sample, chance: random.Random) -> Made | None:
    low = sample.data[22]
    said = bytes([0, low & ~7 | chance.choice([n for n in range(5) if n != low & 7])])
    said = chance.choice([said, bytes([low, 0])]) if low and low < 5 else said
    return Made("codec", 21, maybe_checked(put(sample.data, 21, said), chance))


def header(kind: str, edit: Callable[[bytes], bytes | None]) -> Callable[[Sample, random.Random], Made | None]:
    """A field of the header of another size. edit: its bytes as they are written."""

    def slip(sample: Sample, chance: random.Random) -> Made | None:
        start, size = FIELDS[chance.choice([*FIELDS])]
        new = edit(sample.data[start : start + size])
        if new is None:
            return None
        made = sample.data[:start] + new + sample.data[start + size :]
        if chance.random() < 0.5 and start:
            made = with_length(made)
        return Made(kind, start, made)

    return slip


def narrow(field: bytes) -> bytes | None:
    value = int.from_bytes(field, "big", signed=True)
    half = len(field) // 2
    return field[half:] if -(1 << (half * 8 - 1)) <= value < 1 << (half * 8 - 1) else None


def wide(field: bytes) -> bytes | None:
    return (b"\xff" if field[0] >= 0x80 else b"\0") * len(field) + field if len(field) < 8 else None


def numbers(kind: str, written: Callable[[str, int], bytes | None]) -> Callable[[Sample, random.Random], Made | None]:
    """One number in all records, or in one, in another form. written: (name, value) -> bytes, None: the right ones."""

    def slip(sample: Sample, chance: random.Random) -> Made | None:
        places = write(sample.batch, sample.records).places
        name = chance.choice(
            sorted({name for name, _ in places if None not in (written(name, 0), written(name, -1))}) or [""]
        )
        only = chance.choice([None, chance.randrange(len(sample.records))])

        def number(field: str, record: int, value: int) -> bytes:
            made = written(field, value) if field == name and only in (None, record) else None
            return zigzag(value) if made is None else made

        made = write(sample.batch, sample.records, number)
        if (name, only or 0) not in made.places:
            return None
        return Made(kind, sample.place(made.places[name, only or 0]), sample.whole(made.data))

    return slip


def plain(name: str, value: int) -> bytes | None:
    return varint(value if value >= 0 else value + (1 << 32))


def fixed(name: str, value: int) -> bytes | None:
    return value.to_bytes(4, "big", signed=True) if abs(value) < 1 << 31 else None


def itself(name: str, value: int) -> bytes | None:
    return zigzag(value + len(zigzag(value))) if name == "length" else None


def absent(name: str, value: int) -> bytes | None:
    return b"" if name in ("timestampDelta", "offsetDelta") or (name == "headers" and value <= 0) else None


def deltas(sample: Sample, chance: random.Random) -> Made | None:
    base, n = sample.batch.base_offset, len(sample.records)
    wrong = chance.randrange(n)
    lists = [[i + 1 for i in range(n)], [i + (i == wrong) for i in range(n)]]
    new = [record._replace(offset=base + d) for record, d in zip(sample.records, chance.choice(lists), strict=True)]
    first = next(i for i, record in enumerate(new) if record.offset != base + i)
    made = write(sample.batch, new)
    return Made("offset deltas", sample.place(made.places["offsetDelta", first]), sample.whole(made.data))


def times(sample: Sample, chance: random.Random) -> Made | None:
    base = sample.batch.base_timestamp
    if base <= 0 or sample.batch.is_append_time:
        return None
    made = write(sample.batch, [record._replace(timestamp=record.timestamp + base) for record in sample.records])
    return Made("timestamps", sample.place(made.places["timestampDelta", 0]), sample.whole(made.data))


MAKERS: dict[str, Callable[[Sample, random.Random], Made | None]] = {
    "checksum": checksum,
    "length": length,
    "magic": magic,
    "count": count,
    "last offset delta": last_delta,
    "codec": codec,
    "header narrower": header("header narrower", narrow),
    "header wider": header("header wider", wide),
    "header left out": header("header left out", lambda field: b""),
    "header twice": header("header twice", lambda field: field * 2),
    "record zigzag left out": numbers("record zigzag left out", plain),
    "record fixed width": numbers("record fixed width", fixed),
    "record counts itself": numbers("record counts itself", itself),
    "record left out": numbers("record left out", absent),
    "offset deltas": deltas,
    "timestamps": times,
}


def batches_of(files: Iterable[str], most: int = 3) -> Iterator[Sample]:
    """Right batches of Produce requests and Fetch responses: `most` of each codec, count and size of its kind."""
    seen = dict[tuple[int, int, int], int]()
    for file in files:
        for field in fields_of(file):
            for batch in scan(field, damages=[]):
                if (
                    batch.magic < 2
                    or not batch.crc_valid
                    or batch.is_control
                    or batch.count < 1
                    or batch.size > 1 << 16
                ):
                    continue
                kind = batch.codec, batch.count.bit_length(), batch.size.bit_length()
                if seen.get(kind, 0) < most:
                    sample = Sample(batch)
                    if sample.whole(write(batch, sample.records).data) == sample.data or batch.codec:
                        seen[kind] = seen.get(kind, 0) + 1
                        yield sample


def fields_of(file: str) -> Iterator[bytes]:
    with contextlib.suppress(InputError):
        for exchange in kcli.read_capture(file):
            with contextlib.suppress(InputError, AttributeError, KeyError, TypeError):
                body = exchange.request if exchange.api_key == 0 else exchange.response if exchange.api_key == 1 else {}
                for topic in (body or {}).get("topicData") or (body or {}).get("responses") or ():
                    for part in topic.get("partitionData") or topic.get("partitions") or ():
                        yield bytes(part["records"] or b"")
