"""A replay beside its capture, as a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.table import Table

from kcli.cli.console import console
from kcli.client.replay.outcome import Pair

__all__ = ["show_pairs"]

Cell = Callable[[dict[str, Any]], str]


def kinds(side: dict[str, Any]) -> str:
    parts = [f"{side[kind]:,} {kind}" for kind in ("full", "incremental", "close") if side[kind]]
    return ", ".join(parts) or "none"


def errors(side: dict[str, Any]) -> str:
    counts = {**side["errors"], **side["partitionErrors"]}
    listed = [f"{count} {name}" for name, count in list(counts.items())[:3]]
    return ", ".join(listed) + (f" and {len(counts) - 3} more" if len(counts) > 3 else "") or "-"


def latency(side: dict[str, Any]) -> str:
    figures = side["latencyMs"] or {}
    return " / ".join(f"{value:,.1f}" for value in figures.values() if value is not None) or "-"


ROWS: tuple[tuple[str, Cell], ...] = (
    ("fetches", kinds),
    ("sessions granted", lambda side: f"{side['granted']:,}"),
    ("errors", errors),
    ("without an answer", lambda side: f"{side['unanswered']:,}"),
    ("empty answers", lambda side: f"{side['emptyPolls']:,}"),
    ("partitions that delivered", lambda side: f"{side['partitionsDelivered']:,} of {side['partitions']:,}"),
    ("partitions per answer", lambda side: f"{side['partitionsPerResponse']:,}"),
    ("bytes asked / answered", lambda side: f"{side['requestBytes']:,} / {side['responseBytes']:,}"),
    ("bytes of records", lambda side: f"{side['recordsBytes']:,}"),
)


def show_pairs(found: list[Pair]) -> None:
    """A table for each fetcher, its differences under it, and the sum of it all."""
    out = console()
    for each in found:
        show_pair(out, each)
    differences = sum(len(each.differences) for each in found)
    fetches = sum(each.live.fetches for each in found)
    verdict = f"{differences} differences" if differences else "no differences"
    out.print(f"{fetches:,} fetches of {len(found)} fetchers: {verdict}", highlight=False)


def show_pair(out: Any, each: Pair) -> None:
    captured, live = each.captured.as_dict(), each.live.as_dict()
    run = f", run {each.run}" if each.run > 1 else ""
    out.print(f"{each.captured.label}   Fetch v{captured['apiVersion']} -> v{live['apiVersion']}{run}", highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for title in ("", "captured", "live"):
        table.add_column(title)
    for name, cell in ROWS:
        table.add_row(f"  {name}", cell(captured), cell(live))
    names = " / ".join((captured["latencyMs"] or live["latencyMs"] or {}).keys())
    if names:
        table.add_row(f"  latency ms ({names})", latency(captured), latency(live))
    out.print(table)
    for difference in each.differences:
        out.print(f"  differs: {difference}", highlight=False, markup=False)
    for number, text in each.problems[:5]:
        out.print(f"  fetch {number}: {text}", highlight=False, markup=False)
    if len(each.problems) > 5:
        out.print(f"  and {len(each.problems) - 5} more fetches with problems", highlight=False)
