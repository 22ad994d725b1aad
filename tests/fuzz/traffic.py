"""Captures of any exchanges: real ones with odd values in them and made-up ones, on any clock, cut, in any file."""

from __future__ import annotations

import copy
import functools
import gzip
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import kcli
from kcli.errors import KcliError
from kcli.grammar.frames import encode_request, encode_response
from kcli.schemas.catalog import catalog
from tests import messages as made
from tests.capture.wires import FIN, RST, START, Packet, Wire, frame, pcap, pcapng
from tests.diagnose.captured import DATA
from tests.fuzz.damage import damaged
from tests.fuzz.samples import SAMPLES
from tests.fuzz.tls import change, cut, double, lose, swap

__all__ = ["packets", "traffic"]

LARGEST = 60_000  # bytes of a capture's file, compressed: more only makes the rounds slow
MOST = 400  # exchanges
SECOND = 10**9
CLOCK_STEPS = (-3600 * SECOND, -SECOND, 50 * SECOND, 86_400 * SECOND)
EPOCHS = (1, 2**31 * SECOND, (2**32 - 20) * SECOND)  # ns since 1970 at the first packet; 0 stands for no time
NUMBERS = (-1, 0, 1, 2, 999, 2**15 - 1, -(2**15), 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63))
TEXTS = ("", "x", "orders", "é\x1b[31m\u202e\n\"'", "a" * 300, "%s {0} \\", "__consumer_offsets")
CUTS = (16, 54, 60, 66, 78, 96, 128, 300)  # snapshot lengths


class Call(NamedTuple):
    """A request and its response, without length prefix. began, ended: ns."""

    ends: tuple[tuple[str, int], tuple[str, int]]
    began: int
    request: bytes
    ended: int
    response: bytes | None
    values: tuple[dict[str, Any], dict[str, Any] | None, dict[str, Any] | None] | None = None


def traffic(rng: random.Random) -> bytes:
    """The file of a capture."""
    data = in_file(packets(rng), rng)
    data = damaged(data, rng) if rng.random() < 0.1 else data
    return gzip.compress(data, 1) if rng.random() < 0.05 else data


def packets(rng: random.Random) -> list[Packet]:
    """The packets of a capture, as they are in its file."""
    calls = changed(rng) if rng.random() < 0.6 else made_up(rng)
    packets = packets_of(calls, rng)
    for _ in range(rng.choice((0, 0, 1, 3, 9))):
        rng.choice((lose, double, swap, change, cut))(packets, rng.randrange(len(packets)), rng)
    if rng.random() < 0.3:
        packets = [each._replace(data=each.data[:most], length=len(each.data)) for most in [rng.choice(CUTS)]
                   for each in packets]  # fmt: skip
    if rng.random() < 0.2:
        packets = packets[rng.randrange(len(packets)) :]
    return on_clock(packets, rng)


@functools.cache
def seeds() -> list[Path]:
    found = [*SAMPLES.glob("*.pcap*"), *DATA.glob("*.pcap.zst")]
    return sorted(path for path in found if path.stat().st_size <= LARGEST)


@functools.cache
def captured(path: Path) -> list[Call]:
    """The first exchanges of a real capture."""
    calls: list[Call] = []
    for item in kcli.read_capture(path):
        if len(calls) >= MOST:
            break
        if item.is_cut:
            continue
        server, client = (end_of(each) for each in (item.link.server, item.link.client))
        values = None if item.request is None else (item.header, item.request, item.response)
        ended = item.request_ns if item.response_ns is None else item.response_ns
        calls.append(Call((client, server), item.request_ns, item.request_frame, ended, item.response_frame, values))
    return calls


def end_of(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return (host if host.count(".") == 3 else f"10.9.8.{len(host)}"), int(port)


def changed(rng: random.Random) -> list[Call]:
    """Exchanges of a real capture, in which some fields have other values."""
    calls = list(captured(rng.choice(seeds())))
    first = rng.randrange(len(calls) // 2 + 1)
    calls = calls[first : first + rng.choice((20, 100, MOST))]
    for _ in range(rng.choice((0, 1, 2, 4))):
        chosen = rng.choice(calls)
        if chosen.values is None:
            continue
        side = rng.choice((1, 2)) if chosen.values[2] is not None else 1
        places = [key for _, key in leaves(chosen.values[side])]
        if not places:
            continue
        name, odd, everywhere = rng.choice(places), odd_value(rng), rng.random() < 0.6
        for at, call in enumerate(calls):
            if call is chosen or (everywhere and call.request[:4] == chosen.request[:4] and rng.random() < 0.7):
                calls[at] = rewritten(call, side, name, odd)
    return calls


def leaves(value: Any, name: str = "") -> Iterator[tuple[Any, str]]:
    """Yield (its holder, its name) of each field in a value, lists of values among them."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield value, key
            yield from leaves(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each, name)


def odd_value(rng: random.Random) -> Callable[[Any], Any]:
    """Another value in the place of one of the same type."""
    number, text, repeated = rng.choice(NUMBERS), rng.choice(TEXTS), rng.choice((0, 2, 5))
    step = rng.choice((-1000, -1, 1, 2**31))

    def odd(value: Any) -> Any:
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return value + step if number == 2 else number
        if isinstance(value, float):
            return rng.choice((float("inf"), float("nan"), -1.0, 1e308))
        if isinstance(value, bytes):
            return damaged(value, rng)
        return text if isinstance(value, str) else value * repeated if isinstance(value, list) else None

    return odd


def rewritten(call: Call, side: int, name: str, odd: Callable[[Any], Any]) -> Call:
    """The call with another value in each field of this name; the same where that can't be written."""
    if call.values is None or call.values[side] is None:
        return call
    values = copy.deepcopy(call.values)
    for holder, key in leaves(values[side]):
        if key == name:
            holder[key] = odd(holder[key])
    header, asked, answer = values
    try:
        if side == 1:
            return call._replace(request=encode_request(header, asked or {}), values=values)
        number = {"correlationId": header["correlationId"]}
        key, version = header["requestApiKey"], header["requestApiVersion"]
        return call._replace(response=encode_response(number, key, version, answer or {}), values=values)
    except (KcliError, RecursionError):
        return call


def made_up(rng: random.Random) -> list[Call]:
    """Exchanges of any API, with values that no broker sends."""
    calls, apis = [], list(catalog().apis.values())
    favourites = [rng.choice(apis) for _ in range(3)]
    for link in range(rng.randint(1, 4)):
        ends = (f"10.0.{link % 2}.1", 40_000 + link), (f"10.0.0.{2 + rng.randrange(2)}", 9092)
        now, client = START + rng.randrange(SECOND), rng.choice((None, *TEXTS))
        for number in range(rng.randrange(1, 12)):
            api = rng.choice((rng.choice(apis), *favourites))
            took = rng.choice((0, 1000, 10**6, SECOND, 40 * SECOND))
            request, response = exchange(api, number, client, rng)
            calls.append(Call(ends, now, request, now + took, response))
            now += took + rng.choice((0, 10**6, SECOND))
    return calls


def exchange(api: Any, number: int, client: str | None, rng: random.Random) -> tuple[bytes, bytes | None]:
    """Frames of one exchange."""
    known = catalog()
    versions = known.message(api.request).versions
    version = rng.randint(max(versions.lo, 0), max(versions.hi, 0))
    shape, other = rng.choice([*made.SHAPES.values()]), rng.choice([*made.SHAPES.values()])
    number = rng.choice((number, number, number, number, 0, -1, 2**31 - 1))
    header = {"requestApiKey": api.key, "requestApiVersion": version, "correlationId": number, "clientId": client}
    if (api.key, version) == (7, 0):
        del header["clientId"]
    try:
        request = encode_request(header, fitting(shape(known.message(api.request), version), rng))
        response = encode_response(
            {"correlationId": number}, api.key, version, fitting(other(known.message(api.response), version), rng)
        )
    except KcliError:
        return b"\0\3\0\1" + number.to_bytes(4, "big", signed=True) + b"\xff\xff\0\0\0\0", b"\0\0\0\0"
    if rng.random() < 0.05:  # of an API, or in a version, that nobody knows
        at = rng.choice((0, 2))
        request = request[:at] + rng.choice((999, -1, 100, 30)).to_bytes(2, "big", signed=True) + request[at + 2 :]
    request = damaged(request, rng) if rng.random() < 0.05 else request
    response = damaged(response, rng) if rng.random() < 0.1 else response
    return request, rng.choice((response, response, response, response, None))


def fitting(value: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """With plainer values in some of its fields, so that rules have something to compare."""
    odd = odd_value(rng)
    for holder, key in [*leaves(value)]:
        if rng.random() < 0.3 and isinstance(holder[key], int | str) and not isinstance(holder[key], bool):
            holder[key] = odd(holder[key]) if isinstance(holder[key], str) else rng.choice((0, 1, 2, -1, 100))
    return value


def packets_of(calls: list[Call], rng: random.Random) -> list[Packet]:
    """The packets of all connections, in order."""
    wires: dict[Any, Wire] = {}
    size = rng.choice((7, 100, 1400, 1400, 30_000))
    steps = sorted(
        [(call.began, number, 0, call) for number, call in enumerate(calls)]
        + [(call.ended, number, 1, call) for number, call in enumerate(calls) if call.response is not None],
        key=lambda step: step[:3],
    )
    for ns, _, sender, call in steps:
        wire = wires.get(call.ends)
        if wire is None:
            seq = rng.choice((1000, 2**32 - 50)), rng.randrange(2**32)
            wire = wires[call.ends] = Wire(*call.ends, start=ns - 3 * 10**6, seq=seq)
            if rng.random() < 0.8:
                wire.open()
        wire.now = max(wire.now, ns) if rng.random() < 0.97 else ns
        data = frame(call.response or b"" if sender else call.request)
        if len(data) > 40 * size:
            size = 30_000
        for at in range(0, len(data), size):
            (wire.server if sender else wire.client)(data[at : at + size])
    for wire in wires.values():
        if rng.random() < 0.4:
            wire.add(rng.randrange(2), rng.choice((FIN | 16, RST)))
    return sorted((packet for wire in wires.values() for packet in wire.packets), key=lambda packet: packet.ns)


def on_clock(packets: list[Packet], rng: random.Random) -> list[Packet]:
    """The packets as another clock has their times."""
    if rng.random() < 0.2:
        at, step = rng.randrange(len(packets)), rng.choice(CLOCK_STEPS)
        packets = [*packets[:at], *(each._replace(ns=each.ns + step) for each in packets[at:])]
    first = rng.choice(EPOCHS) - packets[0].ns if rng.random() < 0.15 else 0
    return [each._replace(ns=min(max(each.ns + first, 0), 2**32 * SECOND - 1)) for each in packets]


def in_file(packets: list[Packet], rng: random.Random) -> bytes:
    """The packets in one of the forms of captures."""
    big = rng.random() < 0.2
    if rng.random() < 0.7:
        return pcap(packets, big=big, nano=rng.random() < 0.5)
    resolution = rng.choice((None, 6, 9, 3, 0x80 | 20, 0))
    offset = rng.choice((0, 0, 0, 1000, -1000))
    form = rng.choice(("enhanced", "enhanced", "simple", "obsolete"))
    packets = [each._replace(ns=max(each.ns, offset * SECOND)) for each in packets]
    interface = rng.choice((0, 3)) if form != "simple" else 0
    return pcapng(packets, big=big, resolution=resolution, offset=offset, interface=interface, form=form)
