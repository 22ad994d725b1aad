"""The names of topics by their ids, as a capture teaches them: in the core's table, or in its interpreted twin."""

from __future__ import annotations

from typing import Any

from kcli.core import COMPILED
from kcli.jsontext import dumps


class PlainNames:
    """Topic ids and names, where the core's table is not built: the same two verbs."""

    def __init__(self) -> None:
        self.texts: dict[bytes, str] = {}

    def learn(self, uuid: bytes, name: str) -> None:
        """Remember the name of a topic's id (16 bytes). Zero stands for no id."""
        if any(uuid):
            self.texts[uuid] = dumps(name)

    def __len__(self) -> int:
        return len(self.texts)

    def get(self, uuid: bytes) -> str | None:
        """The name as JSON text; None: unknown."""
        return self.texts.get(uuid)


def new_names() -> Any:
    """An empty table: the core's, where that is built."""
    if not COMPILED:
        return PlainNames()
    from kcli.core.codec.messages import Names

    return Names()
