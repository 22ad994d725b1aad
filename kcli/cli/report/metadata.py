"""`kcli report` of metadata logs: a quorum's nodes as one HTML page."""

from __future__ import annotations

from pathlib import Path

from kcli.capture.io.capture_files import is_capture
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import print_note
from kcli.cli.terminal.output import open_output
from kcli.errors import UsageError
from kcli.snapshots.reading.directory import list_directory
from kcli.topic_names import METADATA_FOLDER


def are_metadata(paths: tuple[str, ...]) -> bool:
    """Return whether these are folders of metadata logs. Raises UsageError if only some are."""
    found = [is_metadata(Path(path)) for path in paths]
    if any(found) and not all(found):
        raise UsageError(
            f"{paths[found.index(False)]}: not a metadata log, but other inputs are: a page shows one kind"
        )
    return all(found)


def is_metadata(folder: Path) -> bool:
    """Return whether a folder is, or has in it, a metadata log, and no capture beside that."""
    if not folder.is_dir():
        return False
    names = [each.name for each in folder.iterdir()]
    if folder.name == METADATA_FOLDER or list_directory(names).snapshots:
        return True
    return METADATA_FOLDER in names and not any(each.is_file() and is_capture(each) for each in folder.iterdir())


def write_metadata(paths: tuple[str, ...], output: str, dialect: str | None, quiet: bool) -> int:
    """Write the page. Returns the exit code. Raises InputError if not everything could be read; the page shows the
    rest.
    """
    from kcli.report.metadata_answers import read_metadata
    from kcli.report.metadata_verdict import judge_metadata, metadata_figures
    from kcli.report.page import render_page
    from kcli.snapshots.survey_json import instant

    with open_output(output, paths) as out:
        report = read_metadata(paths, dialect)
        spans = [report.answers.first_ns, report.answers.last_ns]
        times = (instant(ns // 1_000_000) for ns in spans if ns is not None)
        subtitle = " to ".join(f"{each[:19].replace('T', ' ')} UTC" for each in times if each)
        title = f"What the metadata says: {', '.join(paths[:3])}{', ...' * (len(paths) > 3)}"
        page = render_page(report.answers, title, subtitle, judge_metadata(report), metadata_figures(report)).encode()
        out.write(page)
    if output != "-" and not quiet:
        print_note(f"report in {output} ({len(page) // 1000:,} kB)")
    conclude(report.problems, quiet)
    return 0
