"""`kcli decode segment --verify`: the findings about logs and the files beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kcli.cli.decode.batch_sources import open_source
from kcli.cli.terminal.console import warn
from kcli.cli.terminal.lines import Lines
from kcli.cli.terminal.output import open_output
from kcli.counting import counted
from kcli.input_names import name_of

if TYPE_CHECKING:
    from kcli.records.verification import LogFacts, LogFinding


def run_verify(paths: list[str], inputs: list[str], format_: str, output: str | None, quiet: bool) -> int:
    """Write the findings, a line each. Returns the exit code: 1 where one of them is an error."""
    from kcli.jsontext import dumps

    errors = 0
    with open_output(output, inputs) as out:
        write = Lines(out).line
        for finding in findings_of(paths, quiet):
            errors += finding.severity == "error"
            if format_ == "jsonl":
                write(dumps(finding._asdict()))
            else:
                place = f"{finding.file}: at {finding.offset}"
                write(f"{finding.severity}: {place}: {finding.rule}: {finding.message}")
    return 1 if errors else 0


def findings_of(paths: list[str], quiet: bool) -> Iterator[LogFinding]:
    """Verify each log, then the files beside it against the facts of that log."""
    from kcli.records.segments import kind_of, read_file_rows
    from kcli.records.verification import LogFacts, verify_companion, verify_log

    facts = LogFacts()
    for path in paths:
        kind = kind_of(path)
        if kind in (None, "log"):
            facts = LogFacts()
            with open_source(path) as source:
                yield from verify_log(source.read, path, facts)
            if not quiet:
                found = counted(facts.batches, "batch", "batches"), counted(facts.records, "record")
                warn(f"{name_of(path)}: {', '.join(found)}, {counted(facts.size, 'byte')}")
            continue
        assert kind is not None
        yield from verify_companion(kind, read_file_rows(kind, path), path, beside(path, facts))


def beside(path: str, facts: LogFacts) -> LogFacts:
    """Return the facts of the log that a file belongs to. If only the file was named, the log is read now."""
    from kcli.records.verification import LogFacts, verify_log

    if facts.batches:
        return facts
    log = Path(path).with_suffix(".log")
    found = LogFacts()
    if log.is_file():
        with open_source(str(log)) as source:
            for _ in verify_log(source.read, str(log), found):
                pass
    return found
