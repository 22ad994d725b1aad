"""Messages a second through `kcli ... --lines`, each answered before the next is sent; decode beside a process with
such a loop around kafka-python's own classes.

    python -m benchmarks.bench_coprocess [MESSAGES]        default: 10,000

All four are to answer 10,000 a second and more, for which an ordinary request may take 50 us of kcli's own processor
time: the other half is the asking program's, and the switches between the two.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.turns import KCLI, turn
from kcli.grammar import frames
from kcli.jsontext import dumps, loads
from kcli.records import build_batch

ROUNDS = 5
MOST = 1 << 16  # bytes of an answer; each comes in one piece
HEADER = {"correlationId": 1, "clientId": "c"}
PARTITIONS = [{"partition": number, "fetchOffset": 100 * number} for number in range(3)]


def request(api_key: int, version: int, body: dict[str, Any]) -> bytes:
    return frames.encode_request(HEADER | {"requestApiKey": api_key, "requestApiVersion": version}, body)


def produce(value: bytes) -> bytes:
    partition = {"index": 0, "records": build_batch([(5, b"key", value, ())])}
    return request(0, 9, {"acks": -1, "topicData": [{"name": "orders", "partitionData": [partition]}]})


FETCH = request(1, 12, {"topics": [{"topic": "orders", "partitions": PARTITIONS}]})
NEWER_FETCH = request(1, 13, {"topics": [{"topicId": "A" * 22, "partitions": PARTITIONS}]})
TWO_TOPICS = [{"name": "orders"}, {"name": "others"}]
METADATA = request(3, 12, {"topics": [{"name": "orders"}]})
API_VERSIONS = request(18, 3, {"clientSoftwareName": "kcli", "clientSoftwareVersion": "1"})
PRODUCE = produce(b"value")

# The loop of kcli's coprocess around kafka-python.
PEER = """
import json, sys
from kafka.protocol.consumer import FetchRequest
for line in iter(sys.stdin.buffer.readline, b""):
    message = FetchRequest.decode(bytes.fromhex(line.decode()), version=12, header=True)
    sys.stdout.buffer.write(json.dumps(message.to_dict(), default=str).encode() + b"\\n")
    sys.stdout.buffer.flush()
"""


class Speed(NamedTuple):
    """Messages a second, and microseconds of the process's own processor time for each."""

    rate: float
    own: float


def speed(command: list[str], line: bytes, count: int) -> Speed:
    """One message after another through a process; what asks does nothing else than write and read."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None and process.stdout is not None
        source, target, write, read = process.stdout.fileno(), process.stdin.fileno(), os.write, os.read
        write(target, line)
        answer = read(source, MOST)
        if not answer.endswith(b"\n") or answer.startswith(b'{"error"'):
            raise SystemExit(f"{' '.join(command[-4:])}: {answer!r}")
        turn()
        before, start = processor_seconds(process.pid), time.perf_counter()
        for _ in range(count):
            write(target, line)
            read(source, MOST)
        taken, own = time.perf_counter() - start, processor_seconds(process.pid) - before
        process.stdin.close()
    return Speed(count / taken, own / count * 1e6)


def processor_seconds(pid: int) -> float:
    """Seconds that a running process has had of a processor (Linux)."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def hex_line(*data: bytes) -> bytes:
    return b" ".join(each.hex().encode() for each in data) + b"\n"


def json_line(frame: bytes) -> bytes:
    made = frames.decode_request(frame)
    text, _ = made.codec.json(frame, made.start, records="raw")
    return dumps({"requestHeader": made.header, "request": loads(text)}).encode() + b"\n"


PEERS_CASE = "decode request, Fetch"
CASES = [
    ("decode request, Fetch", "decode request", hex_line(FETCH)),
    ("decode request, Metadata", "decode request", hex_line(METADATA)),
    ("decode request, Produce with records", "decode request --records full", hex_line(PRODUCE)),
    ("encode request, Fetch", "encode request", json_line(FETCH)),
    ("encode request, Metadata", "encode request", json_line(METADATA)),
    ("encode request, ApiVersions", "encode request", json_line(API_VERSIONS)),
    ("check request, Fetch", "check request", hex_line(FETCH)),
    ("check request, Produce", "check request", hex_line(PRODUCE)),
    ("diff message, the same", "diff message", hex_line(FETCH, FETCH)),
    ("diff message, another topic", "diff message", hex_line(FETCH, FETCH.replace(b"orders", b"others"))),
    (
        "diff message, another topic id",
        "diff message",
        hex_line(NEWER_FETCH, NEWER_FETCH.replace(bytes(16), b"1" * 16)),
    ),
    ("diff message, one topic more", "diff message", hex_line(METADATA, request(3, 12, {"topics": TWO_TOPICS}))),
    ("diff message, another record", "diff message", hex_line(PRODUCE, produce(b"other"))),
]


def main(count: int) -> None:
    for title, words, line in CASES:
        ours = [*KCLI, *words.split(), "--lines"]
        found, ratios = list[Speed](), list[float]()
        for _ in range(ROUNDS):
            found.append(speed(ours, line, count))
            if title == PEERS_CASE:
                ratios.append(speed([sys.executable, "-c", PEER], line, count).own / found[-1].own)
        more = f"   kafka-python takes {statistics.median(ratios):.2f}x kcli's processor time" if ratios else ""
        rate, own = statistics.median(each.rate for each in found), min(each.own for each in found)
        print(f"  {title:<38} {rate:>9,.0f} messages/s {own:>6.1f} us of its own for each{more}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
