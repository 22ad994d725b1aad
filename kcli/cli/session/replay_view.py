"""A replay beside its capture, as a table."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from rich.console import Console

from kcli.cli.terminal.columns import first_of, print_rows
from kcli.cli.terminal.console import console
from kcli.cli.terminal.screen import shown
from kcli.counting import counted, few_of
from kcli.replay.sessions.outcome import Pair

# Up to so many fetchers are shown in full, and so many lines of differences and problems.
DETAILED = 3
SHOWN = 10

Cell = Callable[[dict[str, Any]], str]


def kinds(side: dict[str, Any]) -> str:
    parts = [f"{side[kind]:,} {kind}" for kind in ("full", "incremental", "close") if side[kind]]
    return ", ".join(parts) or "none"


def errors(side: dict[str, Any]) -> str:
    counts = {**side["errors"], **side["partitionErrors"]}
    return few_of([f"{count} {name}" for name, count in counts.items()], 3) or "-"


def latency(side: dict[str, Any]) -> str:
    figures = side["latencyMs"] or {}
    return " / ".join(f"{value:,.1f}" for value in figures.values() if value is not None) or "-"


ROWS: tuple[tuple[str, Cell], ...] = (
    ("fetches", kinds),
    ("sessions granted", lambda side: f"{side['granted']:,}"),
    ("errors", errors),
    ("without a response", lambda side: f"{side['unanswered']:,}"),
    ("empty responses", lambda side: f"{side['emptyPolls']:,}"),
    ("partitions that delivered", lambda side: f"{side['partitionsDelivered']:,} of {side['partitions']:,}"),
    ("partitions per response", lambda side: f"{side['partitionsPerResponse']:,}"),
    ("request / response bytes", lambda side: f"{side['requestBytes']:,} / {side['responseBytes']:,}"),
    ("bytes of records", lambda side: f"{side['recordsBytes']:,}"),
)


def show_pairs(found: list[Pair]) -> None:
    """Print the verdict, then each fetcher side by side (a row each when there are many), then the differences."""
    out = console()
    differences = [difference for each in found for difference in each.differences]
    unknown = Counter(difference.unknown for each in found for difference in each.unknown)
    fetches = sum(each.live.fetches for each in found)
    verdict = counted(len(differences), "difference") if differences else "no differences"
    subject = f"{counted(fetches, 'fetch', 'fetches')} of {counted(len(found), 'fetcher')}"
    apart = f", {unknown.total():,} not in the capture" if unknown else ""
    out.print(f"{subject}: {verdict}{apart}", style="red" if differences else "green")
    if len(found) <= DETAILED:
        for each in found:
            show_pair(out, each)
    else:
        show_rows(found)
    limited(out, "differs: ", [str(difference) for difference in differences])
    limited(out, "not in the capture: ", [f"{reason} ({count:,})" for reason, count in unknown.most_common()])
    limited(out, "", [f"{each.live.label}, fetch {at}: {text}" for each in found for at, text in each.problems])


def limited(out: Console, start: str, texts: list[str]) -> None:
    for line in first_of([f"  {start}{text}" for text in texts], SHOWN):
        out.print(shown(line))


def show_pair(out: Console, each: Pair) -> None:
    captured, live = each.captured.as_dict(), each.live.as_dict()
    run = f", run {each.run}" if each.run > 1 else ""
    title = f"{each.captured.label}   Fetch v{captured['apiVersion']} -> v{live['apiVersion']}{run}"
    out.print(shown(title, "bold"))
    rows = [[f"  {name}", cell(captured), cell(live)] for name, cell in ROWS]
    names = " / ".join((captured["latencyMs"] or live["latencyMs"] or {}).keys())
    if names:
        rows.append([f"  latency ms ({names})", latency(captured), latency(live)])
    print_rows(("", "captured", "live"), rows)


def show_rows(found: list[Pair]) -> None:
    """Print a row for each fetcher, captured over live in each cell."""
    headings = ("session", "", "full", "incr.", "errors", "delivered", "records", "p50 ms", "p99 ms", "differs")
    rows = []
    for each in found:
        for side, report in (("captured", each.captured), ("live", each.live)):
            label, count = (report.label, "") if side == "captured" else ("", f"{len(each.differences):,}")
            rows.append([*row(report.as_dict(), side, label), count])
    print_rows(headings, rows, right=frozenset(headings) - {"session", "", "errors"})


def row(figures: dict[str, Any], side: str, label: str) -> list[str]:
    latencies = figures["latencyMs"] or {}
    return [
        label,
        side,
        f"{figures['full']:,}",
        f"{figures['incremental']:,}",
        str(sum(figures["errors"].values()) + sum(figures["partitionErrors"].values())),
        f"{figures['partitionsDelivered']:,} of {figures['partitions']:,}",
        f"{figures['recordsBytes']:,}",
        *(f"{latencies[name]:,.1f}" if latencies.get(name) is not None else "-" for name in ("p50", "p99")),
    ]
