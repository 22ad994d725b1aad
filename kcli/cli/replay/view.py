"""A replay beside its captures, on a screen: each API in two rows, what differs, and pairs of exchanges in full."""

from rich.console import Console

from kcli.capture.kafka.exchange import Exchange
from kcli.cli.terminal.columns import first_of, print_rows
from kcli.cli.terminal.console import console
from kcli.cli.terminal.screen import shown
from kcli.counting import counted
from kcli.replay.traffic.outcome import ApiOutcome, ApiTotals, ExchangeDifference, Outcome, Pace

LISTED = 20  # lines of differences
HEADINGS = ("API", "", "exchanges", "errors", "asked", "answered", "records", "p50 ms", "p99 ms")
RIGHT = frozenset(HEADINGS) - {"API", "", "errors"}


def show_outcome(outcome: Outcome, seconds: float) -> None:
    """Print the verdict, the table, the differences, and the pairs that are kept."""
    out = console()
    lines = [f"{api.api}: {text}" for api in outcome.apis.values() for text in texts_of(api, outcome)]
    verdict = counted(len(lines), "difference") if lines else "no differences"
    if outcome.level == "none":
        verdict = "not compared"
    not_compared = sum(api.not_comparable.total() for api in outcome.apis.values())
    verdict += f", {not_compared:,} not compared" if not_compared else ""
    done = sum(api.live.exchanges for api in outcome.apis.values())
    rate = f", {done / seconds:,.0f} a second" if seconds > 0 else ""
    out.print(f"{counted(done, 'request')} sent{rate}: {verdict}", style="red" if lines else "green")
    if text := pace_text(outcome.pace):
        out.print(text)
    rows = []
    for name in sorted(outcome.apis):
        api = outcome.apis[name]
        rows += [[name, *cells("captured", api.captured)], ["", *cells("live", api.live)]]
    print_rows(HEADINGS, rows, right=RIGHT)
    list_lines(out, lines)
    for name in sorted(outcome.apis):
        for text, count in outcome.apis[name].problems.items():
            out.print(shown(f"  {name}: {counted(count, 'request')} without a response: {text}"))
        for text, count in outcome.apis[name].not_comparable.items():
            out.print(shown(f"  {name}: {count:,} not compared: {text}"))
    for each in outcome.kept:
        show_pair(out, each)


def pace_text(pace: Pace) -> str:
    """Return how punctual a replay with a schedule was; "" for one without."""
    late = [pace.late.percentile(part) for part in (0.5, 0.99)]
    if pace.asked_rate is None or pace.rate is None or None in late:
        return ""
    usual, most = (f"{each:,.1f} ms" for each in late)
    return f"asked {pace.asked_rate:,.1f} a second, achieved {pace.rate:,.1f}; late by {usual} (p50), {most} (p99)"


def texts_of(api: ApiOutcome, outcome: Outcome) -> list[str]:
    """Return the differences in an API, the sums first."""
    found = list(api.verdicts(outcome.level))
    return found + [f"{text}" + (f" ({count} times)" if count > 1 else "") for text, count in api.differences.items()]


def cells(side: str, figures: ApiTotals) -> list[str]:
    """Return a row's cells after the API's name."""
    errors = ", ".join(f"{count} {name}" for name, count in sorted(figures.errors.items())) or "-"
    if figures.unanswered:
        errors = f"{errors}, {figures.unanswered} unanswered".removeprefix("-, ")
    times = [figures.latencies.percentile(part) for part in (0.5, 0.99)]
    return [
        side,
        f"{figures.exchanges:,}",
        errors,
        f"{figures.request_bytes:,}",
        f"{figures.response_bytes:,}",
        f"{figures.records:,}" if figures.records else "-",
        *("-" if each is None else f"{each:,.1f}" for each in times),
    ]


def list_lines(out: Console, lines: list[str]) -> None:
    """Print the differences, as many as a screen has room for."""
    for line in first_of([f"  differs: {each}" for each in lines], LISTED):
        out.print(shown(line))


def show_pair(out: Console, difference: ExchangeDifference) -> None:
    """Print both exchanges in full, as `kcli decode pcap --format jsonl` does."""
    out.print(shown(f"{difference.api}: {difference.text}", "bold"))
    for side, exchange in (("captured", difference.captured), ("live", difference.live)):
        line = text_of(exchange) if exchange is not None else "not sent"
        out.print(shown(f"  {side}: {line}"), soft_wrap=True)


def text_of(exchange: Exchange) -> str:
    """Return an exchange's line of JSON."""
    return exchange.line().decode().rstrip("\n")
