"""The facts of `exchange_facts`: what the report asks of each exchange, with a few numbers out of its messages.

`ExchangeRows` in the core selects the numbers; `fact_row` takes them from values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from kcli.capture.kafka.exchange import Exchange
from kcli.capture.tables.arrays import integers, strings, texts
from kcli.capture.tables.columns import address_of
from kcli.errors import UsageError
from kcli.grammar import messages
from kcli.grammar.selection.plan import MISSING
from kcli.pipeline.exchange_columns import ExchangeColumns
from kcli.pipeline.writing import stored_schema
from kcli.schemas.apikeys import CONSUMER_GROUP_HEARTBEAT, FETCH, JOIN_GROUP, PRODUCE

if TYPE_CHECKING:
    from kcli.capture.kafka.bodies import Bodies
    from kcli.core.columns.exchange_columns import Fields
    from kcli.grammar.codec import MessageCodec

FIELDS = (
    "replica_id", "session_id", "session_epoch", "granted_id", "max_wait_ms", "min_bytes", "isolation_level", "acks",
    "throttle_ms",
)  # fmt: skip
THROTTLE = -1  # where among them the last is
TEXTS = (JOIN_GROUP, CONSUMER_GROUP_HEARTBEAT)  # API keys whose bodies are kept as text
CLIENT = -1  # the replica id of who is none
# The paths of a message, and which of FIELDS each fills. Of two with one field the one that is there counts.
ASKED = {
    "replicaId?": "replica_id", "replicaState.replicaId?": "replica_id", "sessionId?": "session_id",
    "sessionEpoch?": "session_epoch", "maxWaitMs?": "max_wait_ms", "minBytes?": "min_bytes",
    "isolationLevel?": "isolation_level",
}  # fmt: skip
PRODUCED = {"acks?": "acks"}
ANSWERED = {"throttleTimeMs?": "throttle_ms"}
GRANTED = {"sessionId?": "granted_id"} | ANSWERED


def fields_of(bodies: Bodies, api_key: int, version: int, names: Sequence[str]) -> Fields:
    """What the core selects of one version: columns for these of FIELDS."""
    from kcli.core.columns.exchange_columns import Fields

    fetch = api_key == FETCH
    asked = ASKED if fetch else PRODUCED if api_key == PRODUCE else None
    request = side(messages.request(api_key, version, bodies.dialect), asked, names) if asked else None
    return Fields(
        request, side(messages.response(api_key, version, bodies.dialect), GRANTED if fetch else ANSWERED, names)
    )


def side(message: MessageCodec, fields: dict[str, str], names: Sequence[str]) -> tuple[Any, list[int]] | None:
    """What a side is asked for, with the column of each; None: it has nothing of it."""
    columns = {path: names.index(name) for path, name in fields.items() if name in names}
    try:
        selection = message.select([*columns])
    except UsageError:
        return None  # of a dialect, with another kind of field by that name
    if all(place.type == "missing" for place in selection.places.values()):
        return None
    plain = len(selection.levels) == 1 and selection.slices_only(())
    return (selection.head, [*columns.values()]) if plain and selection.head is not None else None


def fact_batch(columns: ExchangeColumns) -> Any:
    """The rows of these exchanges, as a record batch."""
    import pyarrow

    keys = columns.numbers[:, 2]
    fields = columns.fields.copy()
    fields[:, 0][(keys == FETCH) & (fields[:, 0] == MISSING)] = CLIENT
    others = ~numpy.isin(keys, TEXTS)
    unread = others if columns.unanswered is None else others | columns.unanswered
    timestamp, connection, server, end, client_id, correlation_id, version = columns.who
    ends = texts(address_of(each) for each in end.dictionary.to_pylist())
    address = pyarrow.DictionaryArray.from_arrays(end.indices, ends)
    made = [
        timestamp, connection, server, address, client_id, correlation_id, version, *columns.apis, *columns.measures,
        *(integers(values, "int64", values == MISSING) for values in fields.T),
        strings(columns.taken["request"], others), strings(columns.taken["response"], unread),
    ]  # fmt: skip
    return pyarrow.record_batch(made, schema=stored_schema("exchange_facts"))


def fact_row(item: Exchange, exchange: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row of one exchange. exchange: its row of `exchanges`."""
    timestamp, connection, server, client, client_id, number, version, key, api, _, request, response, *measures = (
        exchange
    )
    asked, answered = item.request or {}, item.response or {}
    fetch = key == FETCH and item.request is not None
    replica = asked.get("replicaId", (asked.get("replicaState") or {}).get("replicaId", CLIENT)) if fetch else None
    session = [asked.get(name) if fetch else None for name in ("sessionId", "sessionEpoch")]
    granted = answered.get("sessionId") if fetch else None
    waits = [asked.get(name) if fetch else None for name in ("maxWaitMs", "minBytes", "isolationLevel")]
    acks = asked.get("acks") if key == PRODUCE else None
    bodies = (request, response) if key in TEXTS else (None, None)
    numbers = (replica, *session, granted, *waits, acks, answered.get("throttleTimeMs"))
    who = (timestamp, connection, server, address_of(client), client_id, number, version)
    return (*who, key, api, *measures, *numbers, *bodies)
