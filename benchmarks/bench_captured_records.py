"""`kcli records`: records of 1 kB in a capture, none like another, as lines and as Parquet, beside `decode pcap
--records full`.

    python -m benchmarks.bench_captured_records [RECORDS]        default: 400000

Processor seconds of the whole command, its start included; the best of some rounds.
"""

import random
import resource
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.grow import ACK, GLOBAL, SYN, Unit, say
from benchmarks.turns import KCLI, turn
from kcli.grammar import messages
from kcli.records.builder import NewRecord, build_batch
from kcli.schemas.apikeys import PRODUCE

ROUNDS = 5
VERSION, IN_BATCH, SEGMENT = 9, 60, 65_400
WORDS = (
    "gamma", "alpha", "osaka", "quito", "pending", "user", "total", "shipped", "visa", "latency", "payment", "basket",
    "sensor", "EUR", "card", "refund",
)  # fmt: skip
COMMANDS = {
    "decode pcap --records full": ["decode", "pcap", "--records", "full", "--format", "jsonl"],
    "records --format jsonl": ["records", "--format", "jsonl"],
    "records --format parquet": ["records", "--format", "parquet"],
}


def record(number: int, chosen: random.Random) -> NewRecord:
    words = " ".join(chosen.choices(WORDS, k=150))
    text = f'{{"seq":{number},"id":"{chosen.getrandbits(128):032x}","text":"{words}"}}'
    return 1_700_000_000_000 + number, b"key-%d" % (number % 1000), text.encode()[:1024], ()


def make(path: Path, records: int) -> None:
    """Write a capture of a connection that produces them."""
    chosen, unit, us = random.Random(1), Unit(SEGMENT), 1_700_000_000_000_000
    ports, seq = (20000, 9092), [1000, 5000]
    unit.packet(us, True, ports, seq[0] - 1, 0, SYN)
    unit.packet(us + 10, False, ports, seq[1] - 1, seq[0], SYN | ACK)
    header = messages.request_header(PRODUCE, VERSION, None)
    for start in range(0, records, IN_BATCH):
        batch = build_batch([record(each, chosen) for each in range(start, min(records, start + IN_BATCH))])
        known = {"requestApiKey": PRODUCE, "requestApiVersion": VERSION, "correlationId": start, "clientId": "bench"}
        partition = {"index": 0, "records": batch}
        body = {"transactionalId": None, "acks": -1, "topicData": [{"name": "orders", "partitionData": [partition]}]}
        stored = {"index": 0, "errorCode": 0, "baseOffset": start, "logAppendTimeMs": -1}
        answer = {"responses": [{"name": "orders", "partitionResponses": [stored]}]}
        request = header.write(known) + messages.request(PRODUCE, VERSION, None).write(body)
        response = messages.response_header(PRODUCE, VERSION, None).write({"correlationId": start})
        response += messages.response(PRODUCE, VERSION, None).write(answer)
        for client, frame in (True, request), (False, response):
            us = say(unit, us + 100, client, ports, seq, struct.pack(">I", len(frame)) + frame)
    path.write_bytes(GLOBAL + unit.packets)


def seconds(words: list[str], path: Path) -> float:
    turn()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*KCLI, *words, "--quiet", str(path)], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(records: int) -> None:
    with tempfile.TemporaryDirectory(prefix="kcli-bench-") as name:
        path = Path(name) / "records.pcap"
        make(path, records)
        took = {command: min(seconds(words, path) for _ in range(ROUNDS)) for command, words in COMMANDS.items()}
        beside = took["decode pcap --records full"]
        for command, each in took.items():
            rate = records / each
            print(f"{command:<28} {each:6.3f} s   {rate:10,.0f} records/s   {beside / each:.2f}x", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400_000)
