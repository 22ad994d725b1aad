"""Small definitions for tests, in Kafka's JSON form, and jars that hold them."""

import json
import zipfile
from pathlib import Path
from typing import Any

__all__ = ["field", "jar", "message"]


def field(name: str, kind: str = "int32", versions: str = "0+", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "versions": versions, **more}


def message(name: str, *fields: dict[str, Any], kind: str = "data", versions: str = "0", **more: Any) -> dict[str, Any]:
    raw = {"name": name, "type": kind, "validVersions": versions, "flexibleVersions": "none", "fields": list(fields)}
    return {**raw, **more}


def jar(folder: Path, name: str, *definitions: dict[str, Any], **files: bytes) -> Path:
    """A jar with definitions where Kafka has them, and other files."""
    path = folder / name
    with zipfile.ZipFile(path, "w") as made:
        for each in definitions:
            made.writestr(f"common/message/{each['name']}.json", "// a comment\n" + json.dumps(each))
        for entry, data in files.items():
            made.writestr(entry, data)
    return path
