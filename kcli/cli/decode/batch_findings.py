"""Faults of decoded batches, as warnings and as the command's error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kcli.cli.terminal.console import warn
from kcli.cli.terminal.error_summary import conclude
from kcli.counting import counted
from kcli.errors import InputError

if TYPE_CHECKING:
    from kcli.records.text import Findings


def report_findings(
    found: Findings, name: str, quiet: bool, faults: Iterable[str] = (), slip: Callable[[], str] = str
) -> None:
    """Warn of each problem on stderr; the last ends the command with InputError (exit 3).

    faults: further problems. slip: returns the text to append to the last problem.
    """
    for damage in found.damages:
        if damage.lawful and damage.start:
            text = f"at 0x{damage.start:x}: {damage.reason}"
            warn(f"{name}: {text} (a cut batch: what follows it was not written, or not fetched)", quiet)
    for text in dict.fromkeys(found.tolerated):
        count = found.tolerated.count(text)
        warn(f"{name}: {text}" + (f" ({counted(count, 'batch', 'batches')})" if count > 1 else ""), quiet)
    lines = error_lines(found, faults)
    if lines:
        lines[-1] += slip()
    conclude([InputError(line, file=name) for line in lines], quiet)


def error_lines(found: Findings, faults: Iterable[str] = ()) -> list[str]:
    """Return a line for each problem; a batch cut at the end is none. faults: further problems."""
    lines = [f"{path}: {reason}" if path else reason for _, path, reason, _ in found.problems]
    for damage in found.damages:
        if not (damage.lawful and damage.start):
            size = counted(damage.end - damage.start, "byte")
            lines.append(f"at 0x{damage.start:x}: {damage.reason}; {size} passed over")
    if found.wrong_checksums:
        lines.append(f"{counted(found.wrong_checksums, 'batch has', 'batches have')} a wrong checksum (crcValid false)")
    return [*faults, *lines]
