"""Where the core finds the columns of Fetch and Produce, over all versions."""

from __future__ import annotations

import pytest

from kcli.capture.bodies import Bodies
from kcli.grammar import messages
from kcli.grammar.primitives import Array, Primitive, Struct
from kcli.pipeline.projections import FIXED, NESTED, TAGS, UnreadableError, layout, side
from kcli.schemas.catalog import catalog


@pytest.mark.parametrize("dialect", [None, "kip-1018"])
@pytest.mark.parametrize("key", [0, 1])
def test_every_version_has_one(key: int, dialect: str | None) -> None:
    bodies = Bodies(dialect)
    versions = catalog(dialect).apis[key].versions
    for version in range(versions.lo, versions.hi + 1):
        assert layout(bodies, key, version) is not None


def test_the_columns_of_one_version() -> None:
    message, topic, partition = side(
        messages.request(1, 12).grammar, {"sessionId": 0}, {"partition": 0, "fetchOffset": 1}
    )
    assert [entry[:3] for entry in message if entry[2] >= 0] == [(FIXED, 4, 0)]
    assert [entry[0] for entry in (*message, *topic)].count(NESTED) == 2
    assert [entry[2] for entry in partition] == [0, -1, 1, -1, -1, -1, -1]
    assert partition[-1][:2] == (TAGS, -1)


def test_a_version_that_lacks_a_column_is_not_read() -> None:
    partition = Struct("partition" / Primitive("int32"))
    topic = Struct("topic" / Primitive("int32"), "partitions" / Array(partition))
    message = Struct("topics" / Array(topic))
    side(message, {}, {"partition": 0})
    with pytest.raises(UnreadableError):
        side(message, {}, {"partition": 0, "fetchOffset": 1})
