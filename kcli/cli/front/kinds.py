"""Recognizes what a path is: a capture, a log, a metadata folder, a table, a key log, or the bytes of one message."""

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from kcli.capture.io.capture_files import is_capture, may_be_capture
from kcli.cli.options.file_type import LOOKED_AT, start_of
from kcli.counting import few_of
from kcli.errors import InputError
from kcli.input_names import DELTA_LOG, RUNS_FOLDER, name_of
from kcli.legible import start_text

KEY_LOG = re.compile(rb"(?:#[^\n]*\n|\s)*(?:CLIENT_RANDOM|(?:CLIENT|SERVER)_\w+|EXPORTER_SECRET|RSA Session-ID:\S+) ")
MESSAGE = re.compile(r"(?:a|an) .+ request")
KINDS = {
    "a capture": "capture", "hex text": "hex", "base64 text": "base64", "a Parquet file": "table", "JSON": "json",
    "hex text of record batches": "hex-batch", "base64 text of record batches": "base64-batch",
}  # fmt: skip
EXPECTED = (
    "a capture, log segment, snapshot, metadata log, Parquet file, key log, message in bytes or hex, or a folder of "
    "these expected"
)
MOST_ENTRIES = 10_000  # of a folder, to say what it is
MOST_BELOW = 100  # folders to name instead


def kind_of(path: str) -> str:
    """Return what a file, folder or standard input is: "capture" or a key of `screens.SCREENS`. Raises InputError for a
    file that kcli does not know.
    """
    if path != "-" and Path(path).is_dir():
        return kind_of_folder(Path(path))
    start = start_of(path)
    if start is None:  # a pipe: nothing of it may be read twice
        return "capture"
    if not start:
        raise InputError(f"empty: {EXPECTED}", file=name_of(path))
    if path != "-" and is_capture(Path(path)):
        return "capture"
    return kind_of_start(start, path)


def kind_of_start(start: bytes, path: str) -> str:
    """Return the kind of a file by its first bytes and its name. Raises InputError."""
    from kcli import file_kinds
    from kcli.records.recognition import begins_batch, is_metadata, starts_log
    from kcli.snapshots.reading.names import parse_snapshot_name

    name = Path(path).name
    found = file_kinds.kind_of(start)
    if found in file_kinds.COMPRESSED.values():
        raise InputError(file_kinds.recognized(start) or "", file=name_of(path))
    if found is not None:
        return KINDS[found]
    if KEY_LOG.match(start):
        return "key-log"
    if parse_snapshot_name(name) is not None:
        return "snapshot"
    if starts_log(start) or name.endswith(".log"):
        is_named = Path(path).absolute().parent.name.startswith("__cluster_metadata-")
        return "metadata" if is_named or is_metadata(start) else "segment"
    if found := file_kinds.kind_of_kafka(start):
        if MESSAGE.fullmatch(found):
            return "message"
        return "segment"
    if file_kinds.begins_request(start, whole=len(start) < LOOKED_AT):
        return "message"  # one with a byte that is wrong: its command says which
    if begins_batch(start):
        return "batch"  # cut, or with a wrong length or magic
    raise InputError(
        f"not a kind of file that kcli reads (it begins with {start_text(start[:8])}): {EXPECTED}",
        file=name_of(path),
    )


def kind_of_folder(folder: Path, depth: int = 1) -> str:
    """Return what a folder holds, by the names in it and in the folders below. depth: of folders that the error names.
    Raises InputError.
    """
    names = [path.name for path in islice(folder.iterdir(), MOST_ENTRIES)]
    if folder.name.startswith("__cluster_metadata-") or any(each.startswith("__cluster_metadata-") for each in names):
        return "metadata"
    if any(each.endswith(".checkpoint") and each[0].isdigit() for each in names):
        return "metadata"
    if any(each.endswith(".log") and each[:1].isdigit() for each in names):
        return "partition"
    if any(each in (RUNS_FOLDER, DELTA_LOG) or (folder / each / DELTA_LOG).is_dir() for each in names):
        return "tables"
    if any(may_be_capture(folder / each) for each in names if (folder / each).is_file()):
        return "capture"
    if any(each.endswith(".parquet") for each in names):
        return "tables"
    below = [*map(str, islice(known_folders(folder), MOST_BELOW))] if depth else []
    named = f", but in {few_of(below)}" if below else ""
    raise InputError(f"no capture, log, snapshot or table in this directory{named}", file=str(folder))


def known_folders(folder: Path) -> Iterator[Path]:
    """Yield the folders below a folder, as of the nodes of a cluster, whose contents kcli knows."""
    for each in sorted(folder.iterdir()):
        if each.is_dir():
            with suppress(InputError):
                kind_of_folder(each, depth=0)
                yield each
