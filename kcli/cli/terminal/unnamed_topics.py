"""Topics that an output shows by their ids, as no message had named them before. Their names may follow from offsets
and batches, after the whole capture was read.
"""

from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from typing import Any

from kcli.cli.terminal.commands import ShownCommand
from kcli.core.codec.values import uuid_bytes, uuid_text
from kcli.counting import counted
from kcli.errors import InputError, UsageError
from kcli.topic_names import METADATA_ID


def unnamed_topics(
    names: Any, again: str, room: int | None, shown: Container[str | None] | None = None
) -> Iterator[str]:
    """Yield lines on such topics, and the command that compares. names: kcli.core.codec.messages.Names; again: the
    captures as a command takes them, "": they were standard input; shown: names and ids in the output, None: all.
    """
    missing = set(map(uuid_text, names.missing())) - {METADATA_ID}
    ids = [each for each in missing if shown is None or each in shown]
    if not ids:
        return
    text = f"{counted(len(ids), 'topic')} by id, as no message had named {'it' if len(ids) == 1 else 'them'}"
    if again:
        yield from ShownCommand(f"{text}; by offsets and batches:", f"kcli report {again} -o report.html").lines(room)
    else:
        yield f"{text}."


def learn_derived_names(names: Any, paths: Sequence[str], options: dict[str, Any]) -> None:
    """Learn names of such topics from the table `topics`, which reads the captures once more. Without DuckDB, and if a
    capture is damaged, they stay unknown. options: of DecodeOptions.
    """
    missing = {uuid_text(each) for each in names.missing()} - {METADATA_ID}
    if not missing:
        return
    from kcli.sql.given_tables import open_engine
    from kcli.sql.inputs import sort_inputs

    with (
        suppress(InputError, UsageError),
        open_engine(sort_inputs(paths), options) as engine,
        engine.answer("SELECT topic_id, topic FROM topics") as found,
    ):
        for row in found.read_all().to_pylist():
            if row["topic_id"] in missing:
                names.learn(uuid_bytes(row["topic_id"]), row["topic"])
