"""Chooses the API keys of a draft's requests and responses, and checks them against each other and Apache's tables.

The key is the one set by dialect.json or the user, or else that in the definitions, or else that of Apache's API of the
same name, or else one of PRIVATE_KEYS.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kcli.schemas.lookup import Catalog, unknown
from kcli.schemas.model import Message
from kcli.schemas.ranges import HIGHEST

PRIVATE_KEYS = range(30000, 32768)


class KeyFault(NamedTuple):
    """message: the message whose key is wrong, or ""; setting: the API whose key was set, "" if the definition has the
    key.
    """

    message: str
    setting: str
    rule: str
    text: str


def is_rpc(message: Message) -> bool:
    """Return whether a message is a request or a response."""
    return message.kind in ("request", "response")


def current_name(stock: Catalog, message: Message) -> str:
    """Return a message's name in the newest release of the tables."""
    return stock.current_names.get(message.name, message.name)


def api_name(stock: Catalog, message: Message) -> str:
    return current_name(stock, message).removesuffix("Request").removesuffix("Response")


def names_of_apis(stock: Catalog, messages: Iterable[Message]) -> list[str]:
    """Return the APIs of requests and responses, by the names in the newest release of the tables."""
    return sorted({api_name(stock, each) for each in messages if is_rpc(each)})


def key_faults(stock: Catalog, settings: Mapping[str, int], messages: Iterable[Message]) -> Iterator[KeyFault]:
    """Yield the faults of these messages' API keys. settings: the keys set by dialect.json or the user."""
    spoken = [each for each in messages if is_rpc(each)]
    apis = names_of_apis(stock, spoken)
    for api in settings:
        if api not in apis:
            yield KeyFault("", api, "api-unknown", unknown("API in this dialect", api, apis))
    holders: dict[tuple[str, int], str] = {}
    requests: dict[str, tuple[str, int]] = {}
    for message in sorted(spoken, key=lambda each: (each.kind != "request", each.name)):
        api = api_name(stock, message)
        key = settings.get(api, message.api_key)
        if key is None:
            continue
        asked_by, request_key = requests.setdefault(api, (message.name, key))
        holder = holders.setdefault((message.kind, key), api)
        found = list(against_tables(stock, message, key))
        if request_key != key:
            found.append(("keys-differ", f"API key {key}, but {asked_by} has {request_key}"))
        if holder != api:
            found.append(("key-twice", f"API key {key} is that of {holder}, too"))
        for rule, text in found:
            yield KeyFault(message.name, api if api in settings else "", rule, text)


def against_tables(stock: Catalog, message: Message, key: int) -> Iterator[tuple[str, str]]:
    """Yield (rule, text) for a key that another API has in Apache's tables, or that differs from theirs for this
    API.
    """
    name = current_name(stock, message)
    known = stock.message(name) if name in stock.lines else None
    if not 0 <= key <= HIGHEST:
        yield "key-range", f"API key {key} (0 to {HIGHEST} expected)"
    elif known is None and key in stock.rows:
        yield "key-taken", f"API key {key} is that of {stock.rows[key][1]}"
    elif known is not None and (known.kind, known.api_key) != (message.kind, key):
        yield "released-key", f"{message.kind} {key} here, but {known.kind} {known.api_key} in the tables"


def with_keys(stock: Catalog, settings: Mapping[str, int], messages: Iterable[Message]) -> list[Message]:
    """Return the messages with today's names, requests first; each request and response has a key."""
    named = [each._replace(name=current_name(stock, each)) for each in messages]
    named.sort(key=lambda each: (each.kind != "request", each.name))
    stated = {api_name(stock, each): each.api_key for each in named if is_rpc(each) and each.api_key is not None}
    keys = stated | dict(settings)
    for api in names_of_apis(stock, named):
        if api not in keys:
            taken = {*stock.rows, *keys.values()}
            known = stock.keys_by_name.get(api.lower())
            keys[api] = known if known is not None else next(key for key in PRIVATE_KEYS if key not in taken)
    return [each._replace(api_key=keys[api_name(stock, each)]) if is_rpc(each) else each for each in named]
