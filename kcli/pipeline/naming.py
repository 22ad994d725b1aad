"""Topic names for rows whose connection never heard them: `kcli decode pcap` reads all connections at once and
knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kcli.core.values import uuid_text
from kcli.grammar.topics import annotate
from kcli.jsontext import dumps, loads
from kcli.pipeline.storage import Place
from kcli.pipeline.writing import parquet_writer

__all__ = ["KEPT", "name_topics"]

KEPT = frozenset({"A" * 22, f"{'A' * 21}Q"})  # ids of no topic, and of the cluster's metadata

# A topic id that no name stands behind (next to it, in the core's text) or before: where a string is the
# field before an id, in any message, it is the topic's name.
UNNAMED = r'(?:\{{|[^"],)"topicId":"(?:{})"(?:[^,]|,"[^_])'
BARE = re.compile(r'(?:\{|null,)"topicId":"([\w-]{22})"')
NAMED = '"_topicName"'
METADATA = 3  # whose request has the name behind the id; all others have it before, if at all
FEW = 256  # ids that are looked for by themselves

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

    def member(self, topic_id: str) -> str:
        """The member of an object that goes behind its topic id."""
        name, since = self.known.get(topic_id, (None, 0))
        return f",{NAMED}:{dumps(name)}" if name is not None and since < self.now else ""


def name_topics(uri: str, table: str, known: Known) -> None:
    """Rewrite a file of `exchanges`, or of a table with columns `topic` and `topic_id`, with the names that were
    missing.

    In exchanges a name is shown from when it was learnt on, as `decode pcap` does; in other tables throughout.
    """
    import pyarrow.compute
    import pyarrow.parquet

    place = Place(uri)
    with place.open() as opened:
        source = pyarrow.parquet.ParquetFile(opened)
        schema = source.schema_arrow
        target = Place(f"{uri.partition('?')[0]}.named{uri[len(uri.partition('?')[0]) :]}")
        with target.create() as file, parquet_writer(file, schema) as writer:
            for group in range(source.num_row_groups):
                batch = source.read_row_group(group)
                writer.write_table(name_exchanges(batch, known) if table == "exchanges" else name_columns(batch, known))
    target.move(place)


def name_columns(batch: Any, known: Known) -> Any:
    import pyarrow

    ids = batch.column("topic_id").combine_chunks().dictionary_encode()
    names = [known.get(topic_id, (None, 0))[0] for topic_id in ids.dictionary.to_pylist()]
    found = pyarrow.array(names, pyarrow.string()).take(ids.indices)
    return with_column(batch, "topic", pyarrow.compute.coalesce(batch.column("topic"), found))


def name_exchanges(batch: Any, known: Known) -> Any:
    import pyarrow

    names = NamesAt(known)
    unnamed = UNNAMED.format("|".join(known) if len(known) <= FEW else "[A-Za-z0-9_-]{22}")
    for column in ("request", "response"):
        texts = pyarrow.concat_arrays(batch.column(column).chunks)
        mask = pyarrow.compute.fill_null(pyarrow.compute.match_substring_regex(texts, unnamed), False)
        columns = {"text": texts, "at": batch.column("completed_ns"), "key": batch.column("api_key")}
        rows = pyarrow.table(columns).filter(mask).to_pydict()
        whole = zip(rows["text"], rows["at"], rows["key"], strict=True)
        fresh = [named_text(text, at, names, api_key) for text, at, api_key in whole]
        if fresh != rows["text"]:
            made = pyarrow.compute.replace_with_mask(texts, mask, pyarrow.array(fresh, pyarrow.string()))
            batch = with_column(batch, column, made)
    return batch


def with_column(batch: Any, name: str, values: Any) -> Any:
    return batch.set_column(batch.schema.get_field_index(name), batch.schema.field(name), values)


def named_text(text: str | None, at: int, names: NamesAt, api_key: int = METADATA) -> str | None:
    if text is None or '"topicId":"' not in text or not any(topic_id in text for topic_id in names.known):
        return text
    names.now = at
    if api_key != METADATA and NAMED not in text:
        return BARE.sub(lambda found: found[0] + names.member(found[1]), text)
    value = loads(text.encode())
    annotate(value, names)
    return dumps(value)
