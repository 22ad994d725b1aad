"""What the core selects of Fetch and Produce, over all versions."""

import pytest

pytest.importorskip("kcli.core.codec.messages", reason="the core is not built")

from kcli.capture.kafka.bodies import Bodies
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.words.primitives import Array, Struct
from kcli.grammar.words.scalars import LengthPrefixed, Primitive
from kcli.pipeline.rows.projections import SIDES, Paths, layout, side
from kcli.schemas.catalog import catalog


@pytest.mark.parametrize("dialect", [None, "kip-1018"])
@pytest.mark.parametrize("key", [0, 1])
def test_every_version_has_one(key: int, dialect: str | None) -> None:
    bodies = Bodies(dialect)
    versions = catalog(dialect).apis[key].versions
    for version in range(versions.lo, versions.hi + 1):
        assert layout(bodies, key, version) is not None


def test_the_columns_of_one_version() -> None:
    made = side(messages.response(1, 12), SIDES[1][1])
    assert made is not None
    assert made[1:] == ([0, 3, 4, 5, 6, 7], True, False)
    selection = messages.response(1, 12).select(SIDES[1][1].all)
    assert [level.path for level in selection.levels] == [
        "",
        "responses[]",
        "responses[].partitions[]",
        "nodeEndpoints[]",
    ]
    assert selection.place("responses[].partitions[].records").slot == 6


PARTITIONS = Paths((), "topics[].partitions[]", {"partition": 0})


def of(topic: str, index: str) -> MessageCodec:
    partitions = Array(Struct("partition" / (Primitive(index) if index != "bytes" else LengthPrefixed(index))))
    name = LengthPrefixed(topic) if topic == "string" else Primitive(topic)
    return MessageCodec("Test", 0, Struct("topics" / Array(Struct("topic" / name, "partitions" / partitions))))


def test_a_version_that_lacks_a_column_is_not_read() -> None:
    assert side(of("string", "int32"), PARTITIONS) is not None
    assert side(of("string", "int32"), PARTITIONS._replace(columns={"partition": 0, "fetchOffset": 1})) is None


@pytest.mark.parametrize(("topic", "index"), [("int32", "int32"), ("string", "bytes"), ("string", "uuid")])
def test_a_field_of_another_kind_is_not_read(topic: str, index: str) -> None:
    assert side(of(topic, index), PARTITIONS) is None
