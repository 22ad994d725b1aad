"""Whole commands on damaged files: exit 0, 1 or 3, never a traceback."""

from __future__ import annotations

import contextlib
import io
import os
import random
from pathlib import Path

from kcli.cli.main import main
from tests.fuzz.samples import SAMPLES, Round, on_samples

__all__ = ["COMMANDS", "command", "quiet"]

# What is run on which of the samples; FILE is the damaged copy, under its own name.
COMMANDS: dict[str, tuple[str, str]] = {
    "decode pcap": ("*.pcap*", "decode pcap FILE --format jsonl --quiet"),
    "decode pcap records": ("*.pcap*", "decode pcap FILE --format jsonl --records full --quiet"),
    "decode pcap tls": ("tls.pcap", f"decode pcap FILE --key-log {SAMPLES / 'tls.keys'} --format jsonl --quiet"),
    "audit": ("*.pcap*", "audit FILE"),
    "fetch-session lint": ("*.pcap*", "fetch-session lint FILE"),
    "decode segment": ("orders-0/*.log", "decode segment FILE --records full --format jsonl --quiet"),
    "decode batch": ("orders-0/*.log", "decode batch FILE --records full"),
    "down-convert": ("orders-0/*.log", "down-convert FILE --to-magic 1 -o /dev/null"),
    "down-convert fetch": ("orders-0/*.log", "down-convert FILE --to-magic 0 --fetch-size 100000 -o /dev/null"),
    "snapshot inspect": ("__cluster_metadata-0/*.checkpoint", "snapshot inspect FILE --records --format jsonl"),
    "snapshot verify": ("__cluster_metadata-0/*.checkpoint", "snapshot verify FILE"),
    "snapshot image": ("__cluster_metadata-0/*.checkpoint", "snapshot image FILE --format json"),
}


def command(name: str) -> Round:
    """One round of a command: a sample, damaged, and its exit code."""
    pattern, line = COMMANDS[name]

    def run(file: Path, _rng: random.Random) -> None:
        code = quiet([str(file) if word == "FILE" else word for word in line.split()])
        assert code in (0, 1, 3), f"exit {code}"

    return on_samples(pattern, run)


def quiet(words: list[str]) -> int:
    """The command's exit code; what it prints goes nowhere."""
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        out, err = io.TextIOWrapper(nowhere, write_through=True), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            return main(words)
