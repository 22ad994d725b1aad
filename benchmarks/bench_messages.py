"""Messages: kcli's core against kio's native reader and kafka-python, on real requests and responses.

    python benchmarks/bench_messages.py [CAPTURE...]        default: samples/

Each verb runs over the same messages (those that all can read), the tools in turn, several rounds, for 7 ms and more
each: of less, a tenth is other work of the machine. A ratio is the median of the rounds' ratios. "corpus": every
message once. "fetch": a Fetch v12 request of 10,000 partitions.
"""

import gc
import io
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from kafka.protocol import admin, consumer, metadata, producer
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from benchmarks.turns import turn
from kcli import Exchange, read_capture
from kcli.grammar import frames, messages
from kcli.grammar.codec import MessageCodec

ROUNDS = 7
SAMPLES = Path(__file__).parents[1] / "samples"


class Case(NamedTuple):
    """One message's body, and the verbs of each tool for it."""

    data: bytes
    codec: MessageCodec
    kio_read: Callable[[bytes, int], Any]
    kio_write: Callable[[Any, Any], None]
    kafka_python: Any


def cases(paths: list[str]) -> list[Case]:
    """Messages in the captures that kcli, kio and kafka-python can all read."""
    found = []
    for item in read_capture(paths).items():
        if isinstance(item, Exchange) and item.request is not None:
            key, version = item.api_key, item.api_version
            header = messages.request_header(key, version)
            found.append(case(item.request_frame, header, messages.request(key, version), key, "request"))
            if item.response_frame is not None:
                header = messages.response_header(key, version)
                start = header.skip(item.response_frame)
                codec = frames.response_codec(item.response_frame, start, key, version)
                found.append(case(item.response_frame, header, codec, key, "response"))
    return [each for each in found if each is not None]


def case(frame: bytes, header: MessageCodec, codec: MessageCodec, key: int, kind: str) -> Case | None:
    data = bytes(frame[header.skip(frame) :])
    try:
        made = Case(data, codec, *kio_verbs(key, codec.version, kind), kafka_python_class(codec))
        if codec.skip(data) != len(data):
            return None
        made.kio_write(io.BytesIO(), made.kio_read(data, 0)[0])
        made.kafka_python.decode(data, version=codec.version, header=False)
    except Exception:  # a peer that can't read it: the comparison leaves it out for all
        return None
    return made


def kio_verbs(key: int, version: int, kind: str) -> tuple[Any, Any]:
    entity: Any = load_request_schema(key, version) if kind == "request" else load_response_schema(key, version)
    return entity_reader(entity), entity_writer(entity)


def kafka_python_class(codec: MessageCodec) -> Any:
    modules = (admin, consumer, metadata, producer)
    return next(vars(module)[codec.name] for module in modules if codec.name in vars(module))


def fetch_case() -> Case | None:
    body = {
        "topics": [
            {
                "topic": f"topic-{topic}",
                "partitions": [
                    {"partition": n, "fetchOffset": 1000 * topic + n, "partitionMaxBytes": 1 << 20} for n in range(100)
                ],
            }
            for topic in range(100)
        ]
    }
    codec = messages.request(1, 12)
    header = messages.request_header(1, 12)
    frame = header.write({"requestApiKey": 1, "requestApiVersion": 12, "correlationId": 1, "clientId": "c"})
    return case(frame + codec.write(body), header, codec, 1, "request")


def rates(verbs: dict[str, Callable[[], None]], size: int) -> dict[str, list[float]]:
    """Bytes a second of each verb, round by round; the verbs take turns."""
    found: dict[str, list[float]] = {name: [] for name in verbs}
    for _ in range(ROUNDS):
        for name, verb in verbs.items():
            gc.collect()
            turn()
            start = time.perf_counter()
            verb()
            found[name].append(size / (time.perf_counter() - start))
    return found


def report(title: str, found: dict[str, list[float]]) -> None:
    ours = next(iter(found))
    print(title)
    for name, values in found.items():
        ratio = statistics.median(a / b for a, b in zip(found[ours], values, strict=True))
        print(f"  {name:<24} {statistics.median(values) / 1e6:>9.1f} MB/s   kcli is {ratio:.2f}x")


def each(chosen: Iterable[Case], verb: Callable[[Case], Any], repeat: int) -> Callable[[], None]:
    listed = list(chosen) * repeat

    def run() -> None:
        for one in listed:
            verb(one)

    return run


def measure(title: str, chosen: list[Case], repeat: int, slow: int) -> None:
    """`repeat` passes of the fast verbs, `slow` of the slow ones, whose rate is scaled."""
    values = [(one, one.codec.read(one.data)[0], one.kio_read(one.data, 0)[0]) for one in chosen]
    size = sum(len(one.data) for one in chosen) * repeat
    reads = {
        "kcli read": each(chosen, lambda one: one.codec.compiled.read(one.data), repeat),  # type: ignore[union-attr]
        "kio (native)": each(chosen, lambda one: one.kio_read(one.data, 0), repeat),
        "kafka-python": each(chosen, lambda one: kp_decode(one), repeat),
        "interpreted construct": each(chosen, lambda one: one.codec.interpreted.read(one.data), slow),
    }
    report(f"{title}: read to values", patched(rates(reads, size), "interpreted construct", repeat / slow))
    jsons = {
        "kcli json": each(chosen, lambda one: one.codec.compiled.json(one.data), repeat),  # type: ignore[union-attr]
        "kio + orjson": each(chosen, lambda one: orjson.dumps(one.kio_read(one.data, 0)[0], default=plain), slow),
        "kcli read + orjson": each(chosen, lambda one: orjson.dumps(one.codec.read(one.data)[0], default=plain), slow),
    }
    found = rates(jsons, size)
    for name in ("kio + orjson", "kcli read + orjson"):
        found = patched(found, name, repeat / slow)
    report(f"{title}: bytes to JSON text", found)
    writes = {
        "kcli write": pairs(values, lambda one, ours, _: one.codec.compiled.write(ours), repeat),  # type: ignore[union-attr]
        "kio": pairs(values, lambda one, _, theirs: one.kio_write(io.BytesIO(), theirs), slow),
    }
    report(f"{title}: write", patched(rates(writes, size), "kio", repeat / slow))


def kp_decode(one: Case) -> Any:
    return one.kafka_python.decode(one.data, version=one.codec.version, header=False)


def patched(found: dict[str, list[float]], name: str, factor: float) -> dict[str, list[float]]:
    return found | {name: [value / factor for value in found[name]]}


def pairs(
    values: list[tuple[Case, Any, Any]], verb: Callable[[Case, Any, Any], Any], repeat: int
) -> Callable[[], None]:
    listed = values * repeat

    def run() -> None:
        for one, ours, theirs in listed:
            verb(one, ours, theirs)

    return run


def plain(value: Any) -> Any:
    """What orjson doesn't know of kio's values."""
    import base64
    import datetime

    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.timedelta):
        return int(value.total_seconds() * 1000)
    return int(value)


def main(paths: list[str]) -> None:
    captures = paths or [str(path) for path in sorted(SAMPLES.glob("*.pcap*"))]
    chosen = [one for path in captures for one in cases([path])]
    kinds = {(one.codec.name, one.codec.version) for one in chosen}
    size = sum(len(one.data) for one in chosen)
    print(f"{len(chosen)} messages of {len(kinds)} kinds, {size / 1e6:.1f} MB")
    measure("corpus", chosen, 40, 1)
    big = fetch_case()
    if big is not None:
        measure(f"Fetch v12 request, 10,000 partitions, {len(big.data) / 1e3:.0f} kB", [big], 100, 2)


if __name__ == "__main__":
    main(sys.argv[1:])
