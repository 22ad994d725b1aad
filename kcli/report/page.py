"""The page: one file with its style, its script, the chart library and the data; nothing is loaded from elsewhere.

Names in it come from strangers. They reach the page escaped by Jinja2, or as JSON that the script shows as text; a
content security policy lets no script and no style run but those that kcli put in, by their hash.
"""

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

from kcli.counting import counted, rounded_bytes, span_text
from kcli.legible import legible
from kcli.report.asking import AnsweredQuestion, Answers
from kcli.report.verdict import Verdict, judge

SCRIPTS = ("uPlot.iife.min.js", "page.js")
OF_RESPONSES = ("errors", "errors_over_time")  # questions about responses alone
STYLES = ("uPlot.min.css", "page.css")
TEMPLATE = "page.html"
NS = "_ns"  # ends the names of columns with times


def render(
    answers: Answers, title: str, subtitle: str, verdict: Verdict | None = None, seconds: float | None = None
) -> str:
    """Return the page on captures or a fleet's tables. verdict: what the answers say, unless one is given. seconds:
    captured; None: unknown.
    """
    return render_page(answers, title, subtitle, verdict or judge(answers), figures(answers, seconds))


def render_page(
    answers: Answers, title: str, subtitle: str, verdict: Verdict, numbers: Iterable[tuple[str, str]]
) -> str:
    """Return a page's text. numbers: (name, figure), its first line."""
    from jinja2 import Environment
    from markupsafe import Markup

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=shown)
    asked = [each for each in answers.by_name.values() if each.question.title and each.question.name != "totals"]
    return environment.from_string(asset(TEMPLATE)).render(
        title=title,
        subtitle=subtitle,
        policy=policy(),
        verdict=verdict,
        figures=numbers,
        sections=[each.question for each in asked],
        folded={each.question.name: said_of_nothing(each, answers) for each in asked if not each.rows},
        styles=[Markup(asset(name)) for name in STYLES],  # noqa: S704  kcli's own
        scripts=[Markup(asset(name)) for name in SCRIPTS],  # noqa: S704  kcli's own
        data=data_of(answers),
    )


def said_of_nothing(asked: AnsweredQuestion, answers: Answers) -> str:
    """Return what an answer without rows means: if no exchange or response could be read, it is unknown whether there
    was one.
    """
    totals = answers.by_name.get("totals")
    for row in () if totals is None else totals.dicts():
        if not row["exchanges"]:
            return "Unknown: no exchange could be read."
        if not row["response_bytes"] and asked.question.name in OF_RESPONSES:
            return "Unknown: no response could be read."
    return asked.question.empty


@cache
def asset(name: str) -> str:
    return (resources.files("kcli.report") / "assets" / name).read_text("utf-8")


@cache
def policy() -> str:
    """Return the content security policy: scripts and styles by hash, all else is forbidden."""
    scripts, styles = (" ".join(map(hashed, names)) for names in (SCRIPTS, STYLES))
    return f"default-src 'none'; script-src {scripts}; style-src {styles}; base-uri 'none'; form-action 'none'"


def hashed(name: str) -> str:
    """Return an asset's hash as in the policy: of the text between the tags."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(asset(name).encode()).digest()).decode()}'"


def shown(value: Any) -> Any:
    """Return a text as the page may show it: no control characters, no marks of direction."""
    return legible(value) if type(value) is str else value


def data_of(answers: Answers) -> dict[str, Any]:
    """Return the data for the script. Times in seconds since 1970."""
    bounds = [(each or 0) // answers.step * answers.step / 1e9 for each in (answers.first_ns, answers.last_ns)]
    return {
        "step": answers.step / 1e9,
        "first": bounds[0],
        "last": bounds[1],
        "answers": {name: answer_of(each) for name, each in answers.by_name.items()},
    }


def answer_of(asked: AnsweredQuestion) -> dict[str, Any]:
    times = [name.endswith(NS) for name in asked.columns]
    rows = [[valued(value, time) for value, time in zip(row, times, strict=True)] for row in asked.rows]
    return {"columns": [name.removesuffix(NS) for name in asked.columns], "times": times, "rows": rows}


def valued(value: Any, time: bool) -> Any:
    return value / 1e9 if time and value is not None else shown(value)


def percent(share: float) -> str:
    """Format a share as "7.8%"; only exactly none or all is shown as 0.0% or 100.0%."""
    return "<0.1%" if 0 < share < 0.0005 else ">99.9%" if 0.9995 <= share < 1 else f"{share:.1%}"


def figures(answers: Answers, seconds: float | None = None) -> Iterable[tuple[str, str]]:
    """Yield (name, figure): the page's first line. seconds: see `render`."""
    [totals] = answers.by_name["totals"].dicts()
    yield figure(totals["exchanges"], "exchange")
    if answers.first_ns is None or answers.last_ns is None:
        return
    if totals["response_bytes"]:
        errors = totals["with_errors"]
        yield f"with errors, {percent(errors / totals['exchanges'])}", f"{errors:,}"
    inner = totals["broker_clients"]
    yield figure(totals["clients"], "client", f", {inner:,} of them the brokers' own" if inner else "")
    controllers = totals["controllers"]
    if totals["brokers"] or not controllers:
        yield figure(totals["brokers"], "broker", f", {counted(controllers, 'controller')}" if controllers else "")
    else:
        yield figure(controllers, "controller")
    yield figure(totals["connections"], "connection", " with requests")
    yield "requests", rounded_bytes(totals["request_bytes"])
    yield "responses", rounded_bytes(totals["response_bytes"])
    if totals["p50_ms"] is not None:
        for name, ms in (("median latency", totals["p50_ms"]), ("99 % answered in", totals["p99_ms"])):
            yield f"{name}, with waits", f"{ms:,.0f} ms" if ms >= 1000 else f"{ms:.4g} ms"
    if seconds is None:
        yield "from first to last response", span_text((answers.last_ns - answers.first_ns) / 1e9)
    else:
        yield "captured", span_text(seconds)


def figure(number: int, one: str, more: str = "") -> tuple[str, str]:
    """Return the name and figure of a count."""
    figure, _, name = counted(number, one).partition(" ")
    return name + more, figure
