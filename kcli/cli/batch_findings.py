"""What was wrong with batches that were decoded, as warnings and as the command's error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.cli.console import warn
from kcli.errors import InputError

if TYPE_CHECKING:
    from kcli.records.text import Findings

__all__ = ["report_findings"]

MOST_WARNINGS = 20


def report_findings(found: Findings, name: str, quiet: bool) -> None:
    """Warn of each problem on stderr, up to MOST_WARNINGS. The last ends the command. Raises InputError (exit 3)."""
    lines = [f"{path}: {reason}" if path else reason for _at, path, reason in found.problems]
    for damage in found.damages:
        text = f"at 0x{damage.start:x}: {damage.reason}"
        if damage.lawful and damage.start:
            warn(f"{name}: {text} (a cut batch: what follows it was not written, or not fetched)", quiet)
        else:
            lines.append(f"{text}; {damage.end - damage.start} bytes passed over")
    if found.wrong_checksums:
        batches = "batch has" if found.wrong_checksums == 1 else "batches have"
        lines.append(f"{found.wrong_checksums} {batches} a wrong checksum (crcValid false)")
    if not lines:
        return
    for line in lines[:MOST_WARNINGS][:-1]:
        warn(f"{name}: {line}", quiet)
    if len(lines) > MOST_WARNINGS:
        warn(f"{name}: {len(lines) - MOST_WARNINGS} more problems are not shown", quiet)
    raise InputError(lines[-1], file=name)
