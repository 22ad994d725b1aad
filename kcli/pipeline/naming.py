"""Topic names for rows whose connection never heard them: `kcli decode pcap` reads all connections at once and
knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.core.values import uuid_text
from kcli.grammar.topics import annotate
from kcli.jsontext import dumps, loads
from kcli.pipeline.storage import Place

__all__ = ["name_topics"]

Known = Mapping[str, tuple[str, int]]  # topic id -> name, and when it was learnt (ns)


class NamesAt:
    """The names known at one moment, as `annotate` asks for them."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.now = 0

    def learn(self, uuid: bytes, name: str) -> None:
        """Nothing: what there is to learn was learnt before."""

    def get(self, uuid: bytes) -> str | None:
        name, since = self.known.get(uuid_text(uuid), (None, 0))
        return dumps(name) if name is not None and since < self.now else None


def name_topics(uri: str, table: str, known: Known) -> None:
    """Rewrite a file of `exchanges`, or of a table with columns `topic` and `topic_id`, with the names that were
    missing.

    In exchanges a name is shown from when it was learnt on, as `decode pcap` does; in other tables throughout.
    """
    import pyarrow.parquet

    place = Place(uri)
    with place.open() as opened:
        source = pyarrow.parquet.ParquetFile(opened)
        schema = source.schema_arrow
        target = Place(f"{uri.partition('?')[0]}.named{uri[len(uri.partition('?')[0]) :]}")
        with (
            target.create() as file,
            pyarrow.parquet.ParquetWriter(file, schema, compression="zstd", compression_level=1) as writer,
        ):
            for group in range(source.num_row_groups):
                batch = source.read_row_group(group)
                writer.write_table(name_exchanges(batch, known) if table == "exchanges" else name_columns(batch, known))
    target.move(place)


def name_columns(batch: Any, known: Known) -> Any:
    import pyarrow

    topics, ids = batch.column("topic").to_pylist(), batch.column("topic_id").to_pylist()
    named = [topic or known.get(topic_id or "", (None, 0))[0] for topic, topic_id in zip(topics, ids, strict=True)]
    return batch.set_column(
        batch.schema.get_field_index("topic"), batch.schema.field("topic"), pyarrow.array(named, pyarrow.string())
    )


def name_exchanges(batch: Any, known: Known) -> Any:
    import pyarrow

    names = NamesAt(known)
    completed = batch.column("completed_ns").to_pylist()
    for column in ("request", "response"):
        texts = batch.column(column).to_pylist()
        fresh = [named_text(text, at, names) for text, at in zip(texts, completed, strict=True)]
        batch = batch.set_column(
            batch.schema.get_field_index(column), batch.schema.field(column), pyarrow.array(fresh, pyarrow.string())
        )
    return batch


def named_text(text: str | None, at: int, names: NamesAt) -> str | None:
    if text is None or '"topicId":"' not in text or not any(topic_id in text for topic_id in names.known):
        return text
    names.now = at
    value = loads(text.encode())
    annotate(value, names)
    return dumps(value)
