"""Decoded payloads as columns of a table."""

from typing import Any

from kcli.jsontext import dumps

PAYLOAD_COLUMNS = tuple(f"{which}_{name}" for which in ("key", "value") for name in ("schema_id", "data", "reason"))
KINDS = ("schemaId", "globalId", "contentId", "guid")

Row = dict[str, Any]


def payload_columns(members: Row) -> Row:
    """Return PAYLOAD_COLUMNS of a record with these members (see PayloadDecoder), with decoded data as JSON text. For
    Kafka's own topics `value_data` is the whole `_record`.
    """
    made: Row = {}
    for which in ("key", "value"):
        payload = members.get(f"_{which}", {})
        made[f"{which}_schema_id"] = schema_id(payload)
        made[f"{which}_data"] = dumps(payload["data"]) if "data" in payload else None
        made[f"{which}_reason"] = payload.get("reason")
    if (record := members.get("_record")) is not None:
        made["value_data"], made["value_reason"] = dumps(record), record.get("reason")
    return made


def schema_id(payload: Row) -> str | None:
    """Return the id of a payload's schema, of any kind, as text; None without one."""
    return next((str(payload[kind]) for kind in KINDS if kind in payload), None)
