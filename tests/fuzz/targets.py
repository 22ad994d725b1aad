"""What is fuzzed. A target takes damaged bytes and raises nothing but KcliError; its seeds are real bytes."""

import functools
import json
import random
from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

from kcli.errors import KcliError
from kcli.grammar import frames, messages
from kcli.grammar.codec import MessageCodec
from tests import messages as made
from tests.fuzz.commands import COMMANDS, command
from tests.fuzz.damage import damaged
from tests.fuzz.diagnosing import diagnosing
from tests.fuzz.lines import LINES, lines
from tests.fuzz.networks import late_keys, proxy_headers, tunnels
from tests.fuzz.pipeline import installed, reader
from tests.fuzz.proxying import proxying
from tests.fuzz.redacting import redacting
from tests.fuzz.tls import tls
from tests.fuzz.ways import engines, facts

__all__ = ["TARGETS", "Target"]


class Target(NamedTuple):
    """name; one round, given a source of chance: returns the bytes that it tried."""

    name: str
    round: Callable[[random.Random], bytes]


@functools.cache
def every_message() -> list[tuple[MessageCodec, bytes]]:
    found = []
    for message, version in made.every_message():
        codec = messages.data(message.name, version)
        for shape in (made.filled, made.strange):
            data = codec.write(shape(message, version))
            if data:
                found.append((codec, data))
    return found


def message(rng: random.Random) -> bytes:
    """Both readers say the same, and what they accept is written back as it was."""
    codec, data = rng.choice(every_message())
    data = damaged(data, rng)
    outcomes = [outcome(verbs, data) for verbs in (codec.compiled, codec.interpreted) if verbs is not None]
    assert outcomes[0] == outcomes[-1], (codec.what, outcomes)
    if not isinstance(outcomes[0], str):
        text, end = outcomes[0][1:]
        assert codec.write(json.loads(text)) == data[:end], (codec.what, text)
    return data


def outcome(verbs: object, data: bytes) -> str | tuple[str, bytes, int]:
    try:
        value, end = verbs.read(data)  # type: ignore[attr-defined]
        text, text_end = verbs.json(data, records="raw", secrets=True)  # type: ignore[attr-defined]
        assert text_end == end == verbs.skip(data)  # type: ignore[attr-defined]
    except KcliError as error:
        return str(error)
    return repr(value), text, end


def request(rng: random.Random) -> bytes:
    """A frame that is read is written back as it was, whatever its header says."""
    codec, body = rng.choice(every_message())
    key, version = rng.randrange(100), rng.randrange(20)
    header = {"requestApiKey": key, "requestApiVersion": version}
    data = damaged(messages.request_header(key, version).write(header) + body, rng)
    try:
        found = frames.decode_request(data)
    except KcliError:
        return data
    assert frames.encode_request(found.header, found.body) == data, codec.what
    return data


TARGETS = [
    Target("message", message),
    Target("request", request),
    Target("tls", tls),
    Target("late-keys", late_keys),
    Target("tunnels", tunnels),
    Target("proxy-headers", proxy_headers),
    Target("proxy", proxying),
    Target("redact", redacting()),
    Target("engines", engines),
    *([Target("facts", facts)] if find_spec("pyarrow") else []),
    *([Target("diagnosis", diagnosing())] if find_spec("duckdb") and find_spec("pyarrow") else []),
    *(Target(name, command(name)) for name in COMMANDS),
    *(Target(name, lines(name)) for name in LINES),
    *(Target(name, reader(name)) for name in installed()),
]
