"""Requests that several tests of APIs send, and the codes of their answers."""

from typing import Any

from kcli.schemas.errors import error_name
from tests.broker.talk import Talk


def wanted(name: str, partitions: int = 1, copies: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "numPartitions": partitions, "replicationFactor": copies} | more


async def codes(talk: Talk, api: int, version: int, body: dict[str, Any]) -> list[str]:
    """All error codes of an answer by name, in its order."""
    found: list[str] = []

    def walk(value: object) -> None:
        for name, inner in value.items() if isinstance(value, dict) else ():
            if name.lower().endswith("errorcode"):
                found.append(error_name(inner))
            walk(inner)
        for inner in value if isinstance(value, list) else ():
            walk(inner)

    walk(await talk(api, version, body))
    return found


def altered(kind: int, name: str, key: str, operation: int = 0, value: str | None = "1") -> dict[str, Any]:
    change = {"name": key, "configOperation": operation, "value": value}
    return {"resources": [{"resourceType": kind, "resourceName": name, "configs": [change]}], "validateOnly": False}
