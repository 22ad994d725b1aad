"""Avro values behind Confluent's frame, decoded one by one: the decoder of payloads beside fastavro alone.

    python -m benchmarks.bench_payloads [MILLIONS]        default: 1

Rates are of processor time on one core, the best of some rounds by turns. The records' own cost is that of `kcli
records`, without and with payloads, from a log segment to lines of JSON.
"""

import io
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import fastavro

from benchmarks.turns import processor_time, turn
from kcli.payloads import PayloadDecoder, PayloadOptions
from kcli.records import build_batch
from tests.payloads.values import ORDER, VALUE, avro, framed

ROUNDS = 3
SEGMENT = 100_000  # records of the segment
KCLI = [sys.executable, "-m", "kcli.cli", "records", "--format", "jsonl", "--quiet"]


def rate(count: int, work: Callable[[], object]) -> float:
    """Records a second of processor time."""
    started = time.process_time()
    for _ in range(count):
        work()
    return count / (time.process_time() - started)


def decoding(folder: Path, count: int) -> None:
    """The decoder and fastavro by turns."""
    (folder / "7.avsc").write_text(json.dumps(ORDER))
    decoder = PayloadDecoder(PayloadOptions(schemas=(str(folder / "7.avsc"),)))
    data, schema = avro(ORDER, VALUE), fastavro.parse_schema(ORDER)
    value = framed(7, data)
    ours, theirs = 0.0, 0.0
    for _ in range(ROUNDS):
        turn()
        theirs = max(theirs, rate(count, lambda: fastavro.schemaless_reader(io.BytesIO(data), schema, None)))
        ours = max(ours, rate(count, lambda: decoder.decode("orders", "value", value)))
    print(f"decode {count:,} values  kcli {ours:,.0f}/s  fastavro alone {theirs:,.0f}/s  ratio {ours / theirs:.2f}")


def records(folder: Path) -> None:
    """`kcli records` on a segment."""
    path = folder / "orders-0" / "00000000000000000000.log"
    path.parent.mkdir()
    rows = [(0, b"key", framed(7, avro(ORDER, VALUE)), ())] * 1000
    path.write_bytes(b"".join(build_batch(rows, base_offset=first) for first in range(0, SEGMENT, 1000)))
    for words in ([], ["--schemas", str(folder / "7.avsc")]):
        seconds = min(processor_time([*KCLI, str(path), *words]) for _ in range(ROUNDS))
        print(f"kcli records {'with' if words else 'without'} payloads  {SEGMENT / seconds:,.0f} records/s", flush=True)


def main(count: int) -> None:
    with tempfile.TemporaryDirectory(prefix="kcli-bench-") as name:
        decoding(Path(name), count)
        records(Path(name))


if __name__ == "__main__":
    main(int(float(sys.argv[1] if len(sys.argv) > 1 else 1) * 1_000_000))
