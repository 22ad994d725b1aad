"""Messages a second through `kcli ... --lines`, each answered before the next is sent; decode beside a process with
such a loop around kafka-python's own classes.

    python -m tests.bench.bench_coprocess [MESSAGES]        default: 20,000

`decode` and `encode` of ordinary requests are to answer 10,000 a second and more.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from kcli.grammar import frames
from kcli.jsontext import dumps, loads
from kcli.records import build_batch
from tests.bench.turns import turn

ROUNDS = 5
KCLI = [sys.executable, "-m", "kcli.cli"]
HEADER = {"correlationId": 1, "clientId": "c"}
PARTITIONS = [{"partition": number, "fetchOffset": 100 * number} for number in range(3)]
FETCH = frames.encode_request(
    HEADER | {"requestApiKey": 1, "requestApiVersion": 12}, {"topics": [{"topic": "orders", "partitions": PARTITIONS}]}
)
METADATA = frames.encode_request(
    HEADER | {"requestApiKey": 3, "requestApiVersion": 8}, {"topics": [{"name": "orders"}]}
)
BATCH = build_batch([(5, b"key", b"value", ())])
PRODUCE = frames.encode_request(
    HEADER | {"requestApiKey": 0, "requestApiVersion": 9},
    {"acks": -1, "topicData": [{"name": "orders", "partitionData": [{"index": 0, "records": BATCH}]}]},
)

# The loop of kcli's coprocess around kafka-python.
PEER = """
import json, sys
from kafka.protocol.consumer import FetchRequest
for line in iter(sys.stdin.buffer.readline, b""):
    message = FetchRequest.decode(bytes.fromhex(line.decode()), version=12, header=True)
    sys.stdout.buffer.write(json.dumps(message.to_dict(), default=str).encode() + b"\\n")
    sys.stdout.buffer.flush()
"""


def rate(command: list[str], line: bytes, count: int) -> float:
    """Messages a second."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        write, flush, read = process.stdin.write, process.stdin.flush, process.stdout.readline
        write(line)
        flush()
        answer = read()
        if not answer or answer.startswith(b'{"error"'):
            raise SystemExit(f"{' '.join(command[-4:])}: {answer!r}")
        turn()
        start = time.perf_counter()
        for _ in range(count):
            write(line)
            flush()
            read()
        taken = time.perf_counter() - start
        process.stdin.close()
    return count / taken


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
    ("check request, Fetch", "check request", hex_line(FETCH)),
    ("check request, Produce", "check request", hex_line(PRODUCE)),
    ("diff message, the same", "diff message", hex_line(FETCH, FETCH)),
    ("diff message, another topic", "diff message", hex_line(FETCH, FETCH.replace(b"orders", b"others"))),
]


def main(count: int) -> None:
    for title, words, line in CASES:
        ours = [*KCLI, *words.split(), "--lines"]
        rates, ratios = list[float](), list[float]()
        for _ in range(ROUNDS):
            rates.append(rate(ours, line, count))
            if title == PEERS_CASE:
                ratios.append(rates[-1] / rate([sys.executable, "-c", PEER], line, count))
        more = f"   kcli is {statistics.median(ratios):.2f}x kafka-python" if ratios else ""
        print(f"  {title:<38} {statistics.median(rates):>9,.0f} messages/s{more}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
