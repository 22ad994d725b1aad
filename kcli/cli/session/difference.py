"""One difference of each kind that a replay found, with both exchanges in full."""

import re
from collections.abc import Iterator, Mapping

from kcli.cli.terminal.console import console
from kcli.cli.terminal.screen import shown
from kcli.replay.sessions.outcome import Pair
from kcli.schemas.errors import error_name
from kcli.sessions.comparison import SessionDifference
from kcli.sessions.fetch_exchange import Captured, Key
from kcli.sessions.session_findings import name_of


def show_differences(found: list[Pair], most: int, names: Mapping[str, str], *, stderr: bool = False) -> None:
    """Show the first difference of each kind, of `most` kinds. names: of topics, by id."""
    out = console(stderr=stderr)
    kinds: set[str] = set()
    for pair in found:
        for each in (*pair.differences, *pair.unknown):
            kind = kind_of(each)
            if each.fetch is None or kind in kinds or len(kinds) == most:
                continue
            kinds.add(kind)
            fetch = pair.fetches[each.fetch]
            out.print()
            out.print(shown(str(each), "bold"))
            if each.unknown:
                out.print(shown(f"  not in the capture: {each.unknown}"))
            for side, exchange in (("captured", fetch.step.captured), ("live", fetch.live)):
                out.print(shown(f"  {side}", "bold"))
                for line in lines_of(exchange, names):
                    out.print(shown(f"    {line}"))


def kind_of(difference: SessionDifference) -> str:
    """Return what a difference is about, whichever partition has it."""
    return re.sub(r" of .*", "", difference.what) + difference.unknown


def lines_of(exchange: Captured, names: Mapping[str, str]) -> Iterator[str]:
    """Yield an exchange in words."""

    def name(key: Key) -> str:
        return name_of(key, names)

    yield (
        f"request  v{exchange.version}, session {exchange.session_id}, epoch {exchange.session_epoch}, "
        f"at least {exchange.min_bytes:,} bytes, at most {exchange.max_bytes:,}, in {exchange.max_wait_ms:,} ms"
    )
    for key, (offset, start, most, epoch, last) in exchange.asked:
        epochs = (f", leader epoch {epoch}" if epoch >= 0 else "") + (f", last epoch {last}" if last >= 0 else "")
        start_text = f", log start {start:,}" if start >= 0 else ""
        yield f"  {name(key)} from {offset:,}, at most {most:,} bytes{epochs}{start_text}"
    for key in exchange.forgotten:
        yield f"  without {name(key)}"
    if not exchange.answered:
        yield "no response"
        return
    throttle = f", throttled for {exchange.throttle_ms:,} ms" if exchange.throttle_ms else ""
    yield f"response {error_name(exchange.error)}, session {exchange.granted}{throttle}"
    for key, (error, high, stable, start, size, preferred, diverging) in exchange.reported:
        text = error_name(error) if error else f"{size:,} bytes"
        rest = (f", read from broker {preferred}" if preferred >= 0 else "") + (", diverging" if diverging else "")
        yield f"  {name(key)} {text}, high watermark {high:,}, last stable {stable:,}, log start {start:,}{rest}"
