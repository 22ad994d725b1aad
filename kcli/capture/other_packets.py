"""Names the packets of a capture that have no TCP segment, with their counts."""

from collections import Counter
from typing import Any

from kcli.counting import counted
from kcli.grammar.files.tunnels import unread_name

MOST = 4  # most names of packets in no tunnel


def unread_phrases(engine: Any) -> list[str]:
    """Return phrases such as "297 packets in VXLAN" and "12 packets not TCP (9 UDP, 3 ARP)", the largest first."""
    tunnels, plain = Counter[str](), Counter[str]()
    for code, number in engine.unread.items():
        tunnel, name = unread_name(code)
        if tunnel:
            tunnels[tunnel] += number
        else:
            plain[name] += number
    found = [f"{counted(number, 'packet')} in {name}" for name, number in tunnels.most_common()]
    count = engine.others + engine.unknown_links - sum(tunnels.values())
    if count > 0:
        found.append(f"{counted(count, 'packet')} not TCP{named(plain, count)}")
    return found


def fragment_phrases(engine: Any) -> list[str]:
    """Return a phrase about IP fragments of incomplete datagrams, with the reason, if there are any."""
    if not engine.unjoined:
        return []
    joiner = engine.joiner
    missing = engine.unjoined - joiner.refused - joiner.crowded
    reasons = [
        f"{count:,} {why}" if count < engine.unjoined else why
        for count, why in (
            (missing, "the rest is missing"),
            (joiner.refused, "they contradict each other"),
            (joiner.crowded, "too many at a time"),
        )
        if count
    ]
    return [f"{counted(engine.unjoined, 'IP fragment')} not joined ({', '.join(reasons)})"]


def named(plain: Counter[str], count: int) -> str:
    names = [(name, number) for name, number in plain.most_common(MOST) if name]
    rest = count - sum(number for _, number in names)
    parts = [f"{number:,} {name}" for name, number in names] + ([f"{rest:,} more"] if rest > 0 and names else [])
    return f" ({', '.join(parts)})" if parts else ""
