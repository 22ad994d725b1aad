"""Topic names for rows whose connection never heard them: `kcli decode pcap` reads all connections at once and
knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy

from kcli.jsontext import dumps
from kcli.pipeline.storage import Place
from kcli.pipeline.writing import parquet_writer

if TYPE_CHECKING:
    from kcli.core.naming import Known

__all__ = ["KEPT", "Names", "name_topics", "names_in"]

KEPT = frozenset({"A" * 22, f"{'A' * 21}Q"})  # ids of no topic, and of the cluster's metadata

Names = Mapping[str, tuple[str, int]]  # topic id -> name, and when it was learnt (ns)


def names_in(uri: str) -> Names:
    """What a file of `topic_names` says, the first time for each topic id."""
    import pyarrow.parquet

    with Place(uri).open() as file:
        table = pyarrow.parquet.read_table(file).sort_by([("learnt_ns", "descending")])
    rows = (table.column(name).to_pylist() for name in ("topic_id", "topic", "learnt_ns"))
    return {topic_id: (name, since) for topic_id, name, since in zip(*rows, strict=True)}


def name_topics(uri: str, table: str, names: Names) -> None:
    """Rewrite a file of `exchanges`, or of a table with columns `topic` and `topic_id`, with the names that were
    missing.

    In exchanges a name is shown from when it was learnt on, as `decode pcap` does; in other tables throughout.
    """
    import pyarrow.parquet

    from kcli.core.naming import Known

    known = Known({topic: (dumps(name).encode(), since) for topic, (name, since) in names.items()})
    place = Place(uri)
    with place.open() as opened:
        source = pyarrow.parquet.ParquetFile(opened)
        schema = source.schema_arrow
        target = Place(f"{uri.partition('?')[0]}.named{uri[len(uri.partition('?')[0]) :]}")
        with target.create() as file, parquet_writer(file, schema) as writer:
            for group in range(source.num_row_groups):
                batch = source.read_row_group(group)
                writer.write_table(name_exchanges(batch, known) if table == "exchanges" else name_columns(batch, names))
    target.move(place)


def name_columns(batch: Any, names: Names) -> Any:
    import pyarrow.compute

    ids = batch.column("topic_id").combine_chunks().dictionary_encode()
    known = [names.get(topic_id, (None, 0))[0] for topic_id in ids.dictionary.to_pylist()]
    found = pyarrow.array(known, pyarrow.string()).take(ids.indices)
    return with_column(batch, "topic", pyarrow.compute.coalesce(batch.column("topic"), found))


def name_exchanges(batch: Any, known: Known) -> Any:
    import pyarrow

    moments = batch.column("completed_ns").to_numpy()
    for column in ("request", "response"):
        texts = pyarrow.concat_arrays(batch.column(column).chunks)
        valid, offsets, data = texts.buffers()
        if data is None:
            continue
        ends = numpy.frombuffer(offsets, numpy.int32)[: len(texts) + 1]
        made = known.insert(numpy.frombuffer(data, numpy.uint8), ends, moments)
        if made is not None:
            fresh, ends = map(pyarrow.py_buffer, made)
            whole = pyarrow.Array.from_buffers(pyarrow.string(), len(texts), [valid, ends, fresh])
            batch = with_column(batch, column, whole)
    return batch


def with_column(batch: Any, name: str, values: Any) -> Any:
    return batch.set_column(batch.schema.get_field_index(name), batch.schema.field(name), values)
