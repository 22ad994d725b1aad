"""Drafts for tests: an API of one's own, a new version of one of Apache's, and a released version rewritten."""

import json
from pathlib import Path
from typing import Any

from kcli.schemas.catalog import catalog
from kcli.schemas.vectors.export import to_definition

__all__ = ["GREET", "greeting", "newer_metadata", "rewritten_metadata"]

GREET = 30100
NAME = {"name": "Name", "type": "string", "versions": "0+"}
TIMES = {"name": "Times", "type": "[]int32", "versions": "1+"}
ERROR = {"name": "ErrorCode", "type": "int16", "versions": "0+"}
TEXT = {"name": "Text", "type": "string", "versions": "0+", "nullableVersions": "1+", "default": "hi"}
MARK = {"name": "Mark", "type": "int64", "versions": "1+", "default": "-1"}


def greeting(folder: Path) -> str:
    """The API Greet v0-1. Returns the folder, for `--dialect`."""
    write(folder, rpc("request", "GreetRequest", [NAME, TIMES]), rpc("response", "GreetResponse", [ERROR, TEXT, MARK]))
    return str(folder)


def newer_metadata(folder: Path) -> str:
    """Metadata v14, with a field more in request and response."""
    return metadata(folder, "14", {"name": "Mood", "type": "int32", "versions": "14+", "default": "7"})


def rewritten_metadata(folder: Path) -> str:
    """Metadata v13 with a field that Apache's has not."""
    return metadata(folder, "13", {"name": "Mood", "type": "int32", "versions": "13+", "default": "7"})


def metadata(folder: Path, last: str, more: dict[str, Any]) -> str:
    messages = []
    for name in ("MetadataRequest", "MetadataResponse"):
        raw = to_definition(catalog(None).message(name))
        messages.append(raw | {"validVersions": f"0-{last}", "fields": [*raw["fields"], more]})
    write(folder, *messages)
    return str(folder)


def rpc(kind: str, name: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {"apiKey": GREET, "type": kind, "name": name, "validVersions": "0-1", "flexibleVersions": "0+",
            "fields": fields}  # fmt: skip


def write(folder: Path, *messages: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for message in messages:
        (folder / f"{message['name']}.json").write_text(json.dumps(message))
