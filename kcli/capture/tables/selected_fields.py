"""Message fields as columns: the core's selection for each version, and the same from values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kcli.errors import UsageError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.tables.message_fields import TEXTS, paths_of

if TYPE_CHECKING:
    from kcli.capture.kafka.bodies import Bodies
    from kcli.capture.kafka.exchange import Exchange
    from kcli.core.codec.messages import Selection
    from kcli.core.columns.exchange_columns import FieldPlace, Fields


def fields_of(bodies: Bodies, api_key: int, version: int, names: Sequence[str]) -> Fields | None:
    """Return the core's selection of these fields in one version; None if it has none of them."""
    from kcli.core.columns.exchange_columns import Fields

    if not names:
        return None
    wanted = frozenset(names)
    request_fields = side(
        messages.request(api_key, version, bodies.dialect), paths_of(api_key, wanted, response=False), names
    )
    answered = side(
        messages.response(api_key, version, bodies.dialect), paths_of(api_key, wanted, response=True), names
    )
    return Fields(request_fields, answered) if request_fields or answered else None


def side(
    message: MessageCodec, paths: dict[str, str], names: Sequence[str]
) -> tuple[Selection, list[FieldPlace]] | None:
    """Return the selection of request or response, and (slot, column, whether it is text) of each field; None if it has
    none of them.
    """
    try:
        selection = message.select([*paths])
    except UsageError:
        return None  # in a dialect, a field of this name has another type
    present = {path: name for path, name in paths.items() if selection.places[path].type != "missing"}
    texts = {path for path, name in present.items() if name in TEXTS}
    if not present or len(selection.levels) > 1 or not selection.slices_only(texts) or selection.head is None:
        return None
    return selection.head, [
        (selection.place(path).slot, names.index(name), path in texts) for path, name in present.items()
    ]


def field_values(item: Exchange, names: Sequence[str]) -> list[int | str | None]:
    """Return the values of these fields in an exchange that came as a value."""
    made: list[int | str | None] = [None] * len(names)
    if not names:
        return made
    wanted = frozenset(names)
    for message, response, cut in ((item.request, False, item.cut.request), (item.response, True, item.cut.response)):
        for path, name in paths_of(item.api_key, wanted, response=response).items():
            value: Any = message
            if cut is not None:
                value = item.start_of(path, response=response)
            else:
                for part in path.rstrip("?").split("."):
                    value = value.get(part) if isinstance(value, dict) else None
            if isinstance(value, str if name in TEXTS else int):
                made[names.index(name)] = value
    return made
