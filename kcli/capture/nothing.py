"""Describes a capture without an exchange of Kafka, as an analysis must not imply that such a capture is fine."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kcli.capture.counters import Tally
from kcli.capture.other_packets import fragment_phrases, unread_phrases
from kcli.counting import bytes_text, counted
from kcli.errors import InputError

if TYPE_CHECKING:
    from kcli.capture.decoder import CaptureDecoder

WHOLE = " (tcpdump -s 0 keeps packets whole)"
KEYS = "--key-log FILE gives its secrets"


class NothingReadError(InputError):
    """Captures have no exchange; the text names the protocols found instead, and a remedy."""


def nothing_in(source: CaptureDecoder[Any]) -> NothingReadError | None:
    """Return the error for captures that were read and have no exchange; None if they have one."""
    if source.tally.exchanges:
        return None
    names = source.file_names
    return NothingReadError(nothing_text(source.tally, source.engine), file=names[0] if len(names) == 1 else None)


def require_exchanges(source: CaptureDecoder[Any]) -> None:
    """Raise NothingReadError if the captures have no exchange."""
    if (error := nothing_in(source)) is not None:
        raise error


def nothing_text(tally: Tally, engine: Any) -> str:
    """Describe the traffic found instead of exchanges."""
    tls = Counter({reason: count for reason, count in tally.foreign.items() if reason.startswith(("TLS", "SSL"))})
    others = tally.foreign - tls
    phrases: list[str] = []
    if tls:
        phrases.append(f"{counted(tls.total(), 'connection')} in TLS ({top_of(tls)}): {KEYS}")
    if others:
        phrases.append(f"{counted(others.total(), 'connection')} of something else ({top_of(others)})")
    for kind, text in (("gap", "in gaps"), ("truncated", "cut short"), ("undecodable", "not decodable")):
        if tally.event_bytes[kind]:
            phrases.append(f"{bytes_text(tally.event_bytes[kind])} {text}{WHOLE if kind == 'truncated' else ''}")
    phrases += unread_phrases(engine)
    if engine.cuts:
        phrases.append(f"{counted(engine.cuts, 'packet')} cut before the TCP header's end{WHOLE}")
    phrases += fragment_phrases(engine)
    if engine.ignored:
        phrases.append(f"{bytes_text(engine.ignored)} on other ports than --port")
    if not phrases:
        phrases.append(f"{counted(engine.packets, 'packet')} without a message" if engine.packets else "no packet")
    return f"no Kafka request in it, nothing to judge: {'; '.join(phrases)}"


def top_of(reasons: Counter[str]) -> str:
    """Return the commonest reason, and the number of others."""
    (first, _), *rest = reasons.most_common()
    return first + (f" and {counted(len(rest), 'other reason')}" if rest else "")
