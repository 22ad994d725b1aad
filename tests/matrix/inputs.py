"""What commands are given: every sample, cuts and damaged copies of them, and what is nothing that kcli reads."""

import contextlib
import gzip
import io
import itertools
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kcli.cli.main import main
from tests.fuzz.damage import damaged

__all__ = ["Input", "inputs"]

SAMPLES = Path(__file__).parents[2] / "samples"

# Which kinds a command reads, by the first words of its name; one that is not here reads all of them.
FITS = {
    "audit": ("capture",),
    "broker move-leader": ("odd",),
    "check batch": ("log", "hex"),
    "check request": ("request", "hex"),
    "completion": ("odd",),
    "decode batch": ("log", "hex"),
    "decode data": ("hex",),
    "decode pcap": ("capture",),
    "decode request": ("request", "hex"),
    "decode response": ("response",),
    "decode segment": ("log", "folder"),
    "diff batch": ("log", "hex", "batches"),
    "diff message": ("request", "response", "lines", "hex"),
    "down-convert": ("log", "folder"),
    "encode batch": ("batches",),
    "encode": ("lines",),
    "fetch-session": ("capture", "lines"),
    "pipeline": ("folder",),
    "produce": ("lines", "log"),
    "records": ("capture", "log", "folder"),
    "redact": ("capture", "folder"),
    "replay": ("capture", "folder"),
    "report": ("capture", "folder"),
    "schema": ("odd",),
    "send": ("request", "lines", "hex"),
    "snapshot create": ("folder",),
    "snapshot extract": ("capture",),
    "snapshot fetch": ("odd",),
    "snapshot": ("snapshot", "folder"),
    "stats": ("capture", "folder"),
}


class Input(NamedTuple):
    """kind: what it is, or was before it was damaged. sound: it is no cut and no damaged copy."""

    kind: str
    path: Path
    sound: bool = True

    def fits(self, command: str) -> bool:
        kinds = next((kinds for name, kinds in FITS.items() if f"{command} ".startswith(f"{name} ")), None)
        return kinds is None or self.kind in kinds


def inputs(folder: Path, seed: int, copies: int = 1) -> list[Input]:
    """Files below `folder`: what is sound, and `copies` cuts and damaged ones of each."""
    found = []
    for number, (kind, name, data) in enumerate(itertools.chain(samples(), made(folder))):
        for copy, bytes_ in enumerate(versions(data, random.Random(f"{seed} {name}"), copies)):
            path = folder / f"{number}-{copy}" / name
            path.parent.mkdir(parents=True)
            path.write_bytes(bytes_)
            found.append(Input(kind, path, sound=not copy))
    found += [Input("folder", path) for path in folders(folder, found)]
    return [*found, *(Input("odd", path) for path in odd(folder))]


def versions(data: bytes, rng: random.Random, copies: int) -> Iterator[bytes]:
    yield data
    for _ in range(copies):
        yield data[: rng.randrange(len(data))]
        yield damaged(data, rng)


def samples() -> Iterator[tuple[str, str, bytes]]:
    """(kind, file name, bytes)"""
    kinds = {".pcap": "capture", ".pcapng": "capture", ".log": "log", ".checkpoint": "snapshot", ".hex": "hex"}
    for path in sorted(SAMPLES.rglob("*.*")):
        if path.suffix in kinds:
            yield kinds[path.suffix], path.name, path.read_bytes()


def made(folder: Path) -> Iterator[tuple[str, str, bytes]]:
    """What kcli itself makes of samples: lines, frames, batches; a log that holds metadata."""
    lines = run(
        folder, "decode", "pcap", SAMPLES / "java44-consume-classic.pcap", "--format", "jsonl", "--records", "raw"
    )
    rows = [json.loads(line) for line in lines.splitlines()]
    by_api = {row["requestHeader"]["requestApiKeyName"]: row for row in rows if "event" not in row}
    chosen = b"".join(json.dumps(row).encode() + b"\n" for row in by_api.values())
    yield "lines", "lines.jsonl", chosen
    yield "lines", "lines.jsonl.gz", gzip.compress(chosen)
    (folder / "fetch.json").write_text(json.dumps(by_api["FETCH"]))
    yield "lines", "fetch.json", (folder / "fetch.json").read_bytes()
    yield "request", "request.bin", run(folder, "encode", "request", folder / "fetch.json", "--framed")
    yield "response", "response.bin", run(folder, "encode", "response", folder / "fetch.json")
    log = SAMPLES / "orders-0" / "00000000000000000000.log"
    yield "batches", "batches.json", run(folder, "decode", "batch", log)
    yield "log", "00000000000000001496.log", next(SAMPLES.glob("*/*1496-*.checkpoint")).read_bytes()


def run(folder: Path, *words: object) -> bytes:
    out = folder / "made"
    with contextlib.redirect_stderr(io.StringIO()) as said:
        assert main([*map(str, words), "-o", str(out)]) == 0, said.getvalue()
    return out.read_bytes()


def folders(folder: Path, found: list[Input]) -> Iterator[Path]:
    """The samples' folders, and one in which every file is damaged."""
    for path in sorted(SAMPLES.iterdir()):
        if path.is_dir():
            yield path
    mixed = folder / "__cluster_metadata-0"
    mixed.mkdir()
    for one in found:
        if one.kind in ("snapshot", "log"):
            shutil.copy(one.path, mixed / one.path.name)
    (mixed / "quorum-state").write_text('{"leaderId": ' + "9" * 5000)
    (mixed / "leader-epoch-checkpoint").write_text("0\n99999999999999999999\n1 x\n")
    (mixed / "00000000000000000000.index").write_bytes(b"\xff" * 13)
    yield mixed


def odd(folder: Path) -> Iterator[Path]:
    """Nothing that kcli reads."""
    odd = {
        "empty": b"",
        "garbage": bytes(random.Random(7).randrange(256) for _ in range(4096)),
        "text": b"root:x:0:0:root:/root:/bin/bash\n" * 200,
        "zeros": bytes(5000),
        "ones": b"\xff" * 5000,
        "deep.json": b'{"requestHeader":' + b"[" * 100_000,
        "nested.json": b'{"requestHeader":{"requestApiKey":3},"request":' + b'{"a":[' * 400 + b"]}" * 400 + b"}",
        "big.json": b'{"requestHeader":{"requestApiKey":3,"requestApiVersion":1,"correlationId":'
        + b"9" * 10_000
        + b"}}",
        "infinite.json": b'{"requestHeader":{"requestApiKey":3,"requestApiVersion":NaN,"correlationId":-Infinity}}',
        "null.json": b"null",
        "gzip.gz": gzip.compress(b"x" * 1000)[:-9],
        "odd\x1b[31m\u202e\nname.pcap": b"GIF89a",
    }
    for name, data in odd.items():
        path = folder / "odd" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        yield path
    yield folder / "odd" / "missing"
    yield Path("/dev/null")
