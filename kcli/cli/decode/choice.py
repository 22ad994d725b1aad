"""`kcli decode FILE`: the kind of the file chooses the command."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from kcli.cli.front.kinds import kind_of
from kcli.errors import InputError, UsageError

# By kind: where the command is, and words that it needs.
COMMANDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "capture": ("decode.pcap.command:pcap", ()),
    "segment": ("decode.segment:segment", ()),
    "partition": ("decode.segment:segment", ()),
    "metadata": ("decode.segment:segment", ()),
    "snapshot": ("snapshot.inspect:inspect", ()),
    "message": ("decode.message:request", ()),
    "hex": ("decode.message:request", ("--hex",)),
    "base64": ("decode.message:request", ("--base64",)),
    "batch": ("decode.batch:batch", ()),
    "hex-batch": ("decode.batch:batch", ("--hex",)),
    "base64-batch": ("decode.batch:batch", ("--base64",)),
}
# The commands that read other kinds.
ELSEWHERE: Mapping[str, str] = {
    "table": "kcli sql QUERY {}",
    "tables": "kcli sql QUERY {}",
    "json": "kcli encode request {}",
    "key-log": "kcli CAPTURE --key-log {}",
}


def target_of(words: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the command that decodes the first file on the command line, and the words to add for it. Raises
    UsageError if another command reads that file. Raises InputError if kcli does not recognize it.
    """
    found: list[tuple[str, str]] = []
    failure: InputError | None = None
    for word in words:
        if word == "-" or os.path.lexists(word):
            try:
                found.append((word, kind_of(word)))
            except InputError as error:
                failure = failure or error
    chosen = next((COMMANDS[kind_of_log(word, kind)] for word, kind in found if kind in COMMANDS), None)
    if chosen is not None:
        return chosen
    if failure is not None:
        raise failure
    file, kind = found[0]
    raise UsageError(f"{file}: nothing to decode ({ELSEWHERE[kind].format(file)} reads it)")


def kind_of_log(path: str, kind: str) -> str:
    """Return "snapshot" for a folder of the metadata log that has snapshots alone, else the kind."""
    from kcli.records.segments import kind_of as kind_of_name

    if kind != "metadata" or not Path(path).is_dir():
        return kind
    return kind if any(kind_of_name(name) for _, _, names in os.walk(path) for name in names) else "snapshot"
