"""Any traffic, asked what is wrong with it: an answer, or a line that says why there is none; no secret of it."""

from __future__ import annotations

import random
import unicodedata
from importlib import import_module
from pathlib import Path

import pytest

from kcli.schemas.catalog import catalog
from kcli.schemas.secrets import SECRETS
from tests import messages as made
from tests.capture.wires import Packet, Wire, frame, pcap
from tests.fuzz.samples import Round
from tests.fuzz.tls import folder
from tests.fuzz.traffic import packets, traffic
from tests.inside import kcli
from tests.test_damaged_secrets import APIS, Planted

__all__ = ["diagnosing"]

# By how often: the words before the file, and those after it.
QUESTIONS = (
    (12, ("diagnose",), ("--format", "text")),
    (4, ("diagnose",), ("--format", "jsonl")),
    (2, ("sql", "SELECT * FROM fetch_partitions"), ("--format", "jsonl")),
    (1, ("sql", "SELECT * FROM record_batches"), ("--format", "csv")),
    (1, ("sql", "FROM findings"), ("--format", "jsonl")),
    (1, ("sql", "FROM transactions"), ("--format", "csv")),
    (1, ("sql", "FROM members"), ("--format", "jsonl")),
    (1, ("sql", "FROM fetch_sessions"), ("--format", "jsonl")),
    (1, ("sql", "FROM connections"), ("--format", "csv")),
    (2, ("stats",), ("--by", "client", "--format", "jsonl")),
    (1, ("report",), ("--output", "/dev/null")),
)
BY_NUMBER = (1 << 22, 0)  # bytes of rows from which on texts are numbered, and DuckDB's optimizer is on


def diagnosing() -> Round:
    """The round, with its libraries loaded: they take address space, which is bounded from then on."""
    for name in ("duckdb", "pyarrow.dataset"):
        import_module(name)
    return asked


def asked(rng: random.Random) -> bytes:
    """Ask a question of traffic."""
    planted = Planted(rng.randrange(1 << 30))
    if rng.random() < 0.5:
        data = traffic(rng)
    else:
        every = packets(rng)
        data = pcap(sorted([*every, *secretive(planted, every[0].ns)], key=lambda packet: packet.ns), nano=True)
    path = folder() / "asked.pcap"
    path.write_bytes(data)
    [(_, before, after)] = rng.choices(QUESTIONS, [each[0] for each in QUESTIONS])
    answered(path, planted, before, after, rng.choice(BY_NUMBER))
    return data


def answered(path: Path, planted: Planted, before: tuple[str, ...], after: tuple[str, ...], few: int) -> None:
    """kcli answers, or says what is wrong in a line."""
    from kcli.diagnose import store

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(store, "SMALL", few)
        done = kcli(*(words := (*before, str(path), *after)))
    text = done.stdout + done.stderr
    assert done.returncode in (0, 1, 3), (words, done.returncode, done.stderr)
    for sign in ("Traceback", "DuckDB", "Out of Range Error", "Conversion Error", "Binder Error"):
        assert sign not in done.stderr, (words, done.stderr)
    odd = {each for each in text if each not in "\r\n" and unicodedata.category(each) in ("Cc", "Zl", "Zp", "Cs")}
    assert not odd, (words, odd)
    assert not planted.shown(text), (words, planted.shown(text))


def secretive(planted: Planted, start: int) -> list[Packet]:
    """A connection on which messages with secrets are sent, some of them damaged."""
    wire = Wire(("10.77.0.1", 47_000), ("10.77.0.2", 9092), start=start).open()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(made, "scalar", planted.scalar)
        for _ in range(planted.rng.randint(1, 4)):
            api = catalog().apis[planted.rng.choice(APIS)]
            version = planted.rng.randint(api.versions.lo, api.versions.hi)
            for part, name, end in ("request", api.request, 8), ("response", api.response, 4):
                data = planted.message(api.key, version, part)
                if name in SECRETS and planted.rng.random() < 0.3:
                    data = planted.damage(data, end)
                (wire.client if part == "request" else wire.server)(frame(data))
    return wire.packets
