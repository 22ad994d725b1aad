"""Files by path or URI, through pyarrow.fs: lists folders, reads ranges of bytes, writes whole new files.

A URI is one that `pyarrow.fs.FileSystem.from_uri` accepts: file:///a, s3://bucket/key?endpoint_override=..., gs://,
hdfs://. Everything else is a local path.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any

from kcli.errors import InputError, UsageError
from kcli.extras import require
from kcli.filelike import CAPTURE_SUFFIXES, PACKED_SUFFIXES
from kcli.legible import without_logins
from kcli.named_file import open_named

PATTERN = re.compile(r"[*?[]")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file. size: bytes; changed: seconds since 1970; vouched: the manifest has its size and time, by which it is
    identified.
    """

    uri: str
    size: int
    changed: float
    vouched: bool = False


class StoragePath:
    """The path or URI of a file or folder. uri: as the user wrote it; fs, path: pyarrow's file system and the path in
    it.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.remote = "://" in uri and not uri.startswith("file://")
        if self.remote and (shown := without_logins(uri)) != uri:
            keys = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the environment"
            raise UsageError(f"{shown}: a URI must not contain keys, because tables repeat it; {keys} are for them")
        self.fs, self.path = open_filesystem(uri)

    def __truediv__(self, name: str) -> StoragePath:
        head, query = split_query(self.uri)
        return StoragePath(f"{head.rstrip('/')}/{name}{query}")

    @property
    def absolute(self) -> StoragePath:
        """Return the same place by an absolute name, which holds in other processes, too."""
        return self if "://" in self.uri else StoragePath(self.path)

    def beside(self, path: str) -> str:
        """Return the URI of another path in the same file system."""
        if "://" not in self.uri:
            return path
        scheme = self.uri.partition("://")[0]
        return f"{scheme}://{path if scheme != 'file' else '/' + path.lstrip('/')}{split_query(self.uri)[1]}"

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rstrip("/").rpartition("/")[2]

    def info(self) -> Any:
        """Return pyarrow's FileInfo."""
        return self.fs.get_file_info(self.path)

    def exists(self) -> bool:
        """Return whether there is a file or folder."""
        from pyarrow.fs import FileType

        return bool(self.info().type != FileType.NotFound)

    def listed(self, recursive: bool = True) -> list[StoredFile]:
        """Return the files in a folder, by name; [] if there is no such folder. Raises InputError for a name that is
        not UTF-8.
        """
        from pyarrow.fs import FileSelector

        infos = self.fs.get_file_info(FileSelector(self.path, allow_not_found=True, recursive=recursive))
        try:
            return sorted((self.stored(info) for info in infos if info.is_file), key=lambda each: each.uri)
        except UnicodeDecodeError as error:
            name = os.fsdecode(error.object)
            raise InputError("the file's name is not UTF-8, which tables need to name it", file=name) from None

    def stored(self, info: Any) -> StoredFile:
        """Return a file from its FileInfo."""
        changed = info.mtime.timestamp() if info.mtime is not None else 0.0
        return StoredFile(self.beside(info.path), info.size or 0, changed)

    def open(self) -> Any:
        """Open the file for reading; it has seek and readinto. Raises OSError."""
        return self.fs.open_input_file(self.path) if self.remote else Path(self.path).open("rb", buffering=0)

    def create(self) -> IO[bytes]:
        """Open the file for writing. A missing folder is created. Raises OSError."""
        if self.remote:
            return self.fs.open_output_stream(self.path)  # type: ignore[no-any-return]
        Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        return open_named(self.path, self.path)

    def read(self) -> bytes:
        """Read all bytes of the file. Raises OSError."""
        with self.open() as file:
            return bytes(file.read())

    def write(self, data: bytes) -> None:
        """Write the file as a whole or not at all. Raises OSError."""
        if self.remote:
            with self.create() as file:
                file.write(data)
            return
        target = Path(self.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f"{target.name}.part{os.getpid()}")
        with open_named(str(part), self.path) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)

    def move(self, target: StoragePath) -> None:
        """Move the file, replacing any at the target. Nothing happens if it is gone, because it was moved before."""
        if self.remote:
            if self.exists():
                self.fs.move(self.path, target.path)
            return
        Path(target.path).parent.mkdir(parents=True, exist_ok=True)
        if Path(self.path).exists():
            shutil.move(self.path, target.path)

    def remove(self) -> None:
        """Remove a file, or a folder with its contents. Nothing happens if there is none."""
        from pyarrow.fs import FileType

        kind = self.info().type
        if kind == FileType.Directory:
            self.fs.delete_dir(self.path)
        elif kind == FileType.File:
            self.fs.delete_file(self.path)


def open_filesystem(uri: str) -> tuple[Any, str]:
    """Return (pyarrow's file system, path in it). Raises UsageError."""
    require("kcli pipeline", "parquet")
    from pyarrow import ArrowException, fs

    try:
        uri.encode()
    except UnicodeEncodeError:  # a name that is not UTF-8
        raise UsageError(f"{uri}: the pipeline takes paths in UTF-8 alone") from None
    if "://" not in uri:
        return fs.LocalFileSystem(), str(Path(uri).absolute())
    try:
        return fs.FileSystem.from_uri(uri)  # type: ignore[no-any-return]
    except (ArrowException, OSError, ValueError) as error:
        raise UsageError(f"{uri}: {str(error).splitlines()[0]}") from None


def split_query(uri: str) -> tuple[str, str]:
    """Return (URI without its query, query with its "?" or ""). A local path has no query."""
    head, mark, query = uri.partition("?") if "://" in uri else (uri, "", "")
    return head, mark + query


def gather(named: Sequence[str | StoredFile], suffixes: tuple[str, ...] = CAPTURE_SUFFIXES) -> list[StoredFile]:
    """Return the files named by paths, URIs and patterns: named files, and files in a folder with a capture's name.
    StoredFiles are returned as they are.
    """
    found: dict[str, StoredFile] = {}
    for each in named:
        files = [each] if isinstance(each, StoredFile) else files_of(StoragePath(each), suffixes)
        found |= {file.uri: file for file in files}
    return list(found.values())


def files_of(place: StoragePath, suffixes: tuple[str, ...]) -> Iterator[StoredFile]:
    from pyarrow.fs import FileType

    info = place.info()
    if info.type == FileType.NotFound:
        matching = matches(place)
        if not matching:
            raise InputError("No such file or directory", file=place.uri)
        for found in matching:
            yield from files_of(found, suffixes)
        return
    if info.type == FileType.File:
        yield place.stored(info)
        return
    if info.type == FileType.Unknown:
        raise InputError("a pipe or a device, which can't be read twice (a file or a folder expected)", file=place.uri)
    for each in place.listed():
        if is_named_so(split_query(each.uri)[0], suffixes):
            yield each


def matches(place: StoragePath) -> list[StoragePath]:
    """Return the files and folders whose paths match a pattern (*, [a-z], and ? in a local one), part by part."""
    from pyarrow.fs import FileSelector, FileType

    parts = place.path.split("/")
    number = next((number for number, part in enumerate(parts) if PATTERN.search(part)), None)
    if number is None:
        return []
    found = ["/".join(parts[:number]) or "/"]
    for part in parts[number:]:
        folders = [each.path for each in place.fs.get_file_info(found) if each.type == FileType.Directory]
        infos = [info for each in folders for info in place.fs.get_file_info(FileSelector(each))]
        fits = part if PATTERN.search(part) else "".join(f"[{c}]" if c in "*?[" else c for c in part)
        found = sorted(info.path for info in infos if fnmatchcase(info.base_name, fits))
    return [StoragePath(place.beside(path)) for path in found]


def is_named_so(path: str, suffixes: tuple[str, ...]) -> bool:
    """Return whether a file has one of the suffixes. tcpdump numbers rotated files after it (a.pcap0, a.pcap1), and
    either may be compressed.
    """
    name = path.rpartition("/")[2].lower()
    if name.startswith((".", "_")):
        return False
    for packed in PACKED_SUFFIXES:
        name = name.removesuffix(packed)
    return name.rstrip("0123456789").endswith(suffixes)
