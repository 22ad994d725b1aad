"""The report as one HTML page that needs no network: charts are SVG within it, tables can be sorted, SQL is at hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kcli.extras import require
from kcli.legible import legible
from kcli.pipeline.queries import Chart
from kcli.pipeline.report import Answered

__all__ = ["cell", "render"]

BARS = 8  # of a chart; the table has them all
COLOURS = ("#2563eb", "#f59e0b", "#10b981", "#ef4444")
INK = {
    "foreground": "#6b7280", "foreground_strong": "#6b7280", "foreground_subtle": "#9ca3af", "label_font_size": 11,
    "major_label_font_size": 11, "legend_font_size": 12, "font_family": "system-ui, sans-serif",
}  # fmt: skip
UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
:root { color-scheme: light dark; --ink: #1f2937; --soft: #6b7280; --line: #e5e7eb; --paper: #ffffff; --card:
#f9fafb; --hot: #b91c1c } @media (prefers-color-scheme: dark) {
  :root { --ink: #e5e7eb; --soft: #9ca3af; --line: #374151; --paper: #111827; --card: #1f2937; --hot: #fca5a5 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto; max-width:
72rem;
  padding: 1.5rem 1rem 4rem }
h1 { font-size: 1.6rem; margin: 0 }
h2 { font-size: 1.15rem; margin: 0 0 .25rem }
nav { margin: 1rem 0; display: flex; flex-wrap: wrap; gap: .25rem 1rem; font-size: .9rem }
a { color: #2563eb }
.soft { color: var(--soft) }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; margin: 1rem 0 }
.figures div { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem }
.figures b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums }
section { border-top: 1px solid var(--line); padding: 1.25rem 0 }
.chart { max-width: 46rem; margin: .5rem 0 }
.chart svg { width: 100%; height: auto }
.scroll { overflow: auto; max-height: 26rem }
thead th { position: sticky; top: 0; background: var(--paper) }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; margin: .5rem 0 }
th, td { padding: .2rem .7rem .2rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line) }
th { cursor: pointer; color: var(--soft); font-weight: 600; white-space: nowrap }
td.n, th.n { text-align: right }
details { font-size: .85rem }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; overflow-x: auto }
.refused { color: var(--hot); font-weight: 600 }
</style>
</head>
<body>
<h1>{{ title }}</h1>
<p class="soft">{{ subtitle }}</p>
<div class="figures">{% for text, value in figures %}<div><b>{{ value }}</b>{{ text }}</div>{% endfor %}</div>
<nav>{% for each in answers %}<a href="#{{ each.name }}">{{ each.title }}</a>{% endfor %}</nav>
{% for each in answers %}
<section id="{{ each.name }}">
<h2>{{ each.title }}</h2>
<p class="soft">{{ each.why }}</p>
{% if not each.rows %}<p>{{ each.empty }}</p>{% else %}
{% if each.chart %}<div class="chart">{{ each.chart | safe }}</div>{% endif %}
<div class="scroll"><table><thead><tr>{% for name, n in each.columns %}<th{% if n %} class="n"{% endif %}>{{ name
}}</th>{% endfor %}</tr></thead> <tbody>{% for row in each.rows %}<tr>{% for text, sort, n in row %}<td{% if n %}
class="n"{% endif %}{% if text in marked %} class="refused"{% endif %} data-sort="{{ sort }}">{{ text }}</td>{%
endfor %}</tr> {% endfor %}</tbody></table></div> {% endif %}
<details><summary>SQL</summary><pre>{{ each.sql }}</pre></details>
</section>
{% endfor %}
<script>
for (const table of document.querySelectorAll("table")) table.querySelectorAll("th").forEach((head, at) => {
  head.onclick = () => {
    const body = table.tBodies[0], sign = head.dataset.sign = head.dataset.sign === "1" ? "-1" : "1";
    const key = row => row.cells[at].dataset.sort;
    [...body.rows].sort((a, b) => sign * (isNaN(key(a)) || isNaN(key(b)) ? key(a).localeCompare(key(b)) : key(a) -
    key(b)))
      .forEach(row => body.append(row));
  };
});
</script>
</body>
</html>
"""


def render(answers: Sequence[Answered], title: str, subtitle: str) -> str:
    """The page's text. UsageError where what draws it is missing."""
    require("kcli pipeline report", "spark")
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, finalize=safe)
    template = environment.from_string(TEMPLATE)
    shown = [section(each) for each in answers]
    return template.render(
        title=title, subtitle=subtitle, answers=shown, figures=figures(answers), marked=("refused", "unsure")
    )


def safe(value: Any) -> Any:
    """A value as the page may show it: no control characters, no marks of direction."""
    return legible(value) if type(value) is str else value


def section(each: Answered) -> dict[str, Any]:
    question = each.question
    numbers = [
        all(isinstance(row[at], (int, float, type(None))) for row in each.rows) for at in range(len(each.columns))
    ]
    rows = [
        [
            (cell(name, value), "" if value is None else value, n)
            for name, value, n in zip(each.columns, row, numbers, strict=True)
        ]
        for row in each.rows
    ]
    names = [(name.replace("_", " "), n) for name, n in zip(each.columns, numbers, strict=True)]
    drawn = draw(each, question.chart) if question.chart and each.rows else None
    made = {"name": question.name, "title": question.title, "why": question.why, "empty": question.empty}
    return {**made, "sql": question.sql.strip(), "columns": names, "rows": rows, "chart": drawn}


def cell(name: str, value: Any) -> str:
    """A value as a person reads it; bytes by their column's name."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and name.endswith("bytes"):
        return bytes_text(value)
    if isinstance(value, float):
        return f"{value:,.2f}".rstrip("0").rstrip(".")
    return (
        f"{value:,}"
        if isinstance(value, int) and name not in ("partition", "end_offset", "epoch", "replica_id")
        else str(value)
    )


def bytes_text(size: float) -> str:
    for unit, name in UNITS:
        if abs(size) >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size:,.0f} B"


def figures(answers: Sequence[Answered]) -> list[tuple[str, str]]:
    """The page's first line: the sums of the first things to know."""
    by_name = {each.question.name: each for each in answers}

    def total(name: str, column: str) -> int:
        each = by_name[name]
        at = each.columns.index(column)
        return int(sum(row[at] or 0 for row in each.rows))

    refused = by_name["refused"]
    verdict = refused.columns.index("verdict")
    return [
        ("packets", f"{total('lineage', 'packets'):,}"),
        ("exchanges", f"{total('apis', 'exchanges'):,}"),
        ("clients refused", f"{sum(row[verdict] == 'refused' for row in refused.rows):,}"),
        ("converted down", bytes_text(total("conversions", "converted_bytes"))),
        ("leader changes met", f"{total('leaders', 'changes'):,}"),
        ("bytes unaccounted", f"{total('lineage', 'unaccounted'):,}"),
    ]


def number_text(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def charts() -> Any:
    """The chart library, without the finder that it leaves in sys.meta_path: it makes later imports warn."""
    import sys

    import pygal
    import pygal.style

    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "PluginImportFixer"]
    return pygal


def draw(each: Answered, chart: Chart) -> str:
    """An SVG element."""
    pygal = charts()
    labels = [each.columns.index(name) for name in chart.label]
    rows = each.rows if chart.kind == "line" else each.rows[:BARS]
    bars = chart.kind == "bar"
    made = (pygal.HorizontalBar if bars else pygal.Line)(
        style=pygal.style.Style(background="transparent", plot_background="transparent", colors=COLOURS, **INK),
        js=[],
        width=760,
        height=max(180, 90 + 20 * len(rows) * len(chart.values)) if bars else 260,
        legend_at_bottom=True,
        show_legend=len(chart.values) > 1,
        truncate_label=28,
        x_label_rotation=0 if bars else 30,
        value_formatter=bytes_text if chart.unit == "bytes" else number_text,
        disable_xml_declaration=True,
        show_minor_x_labels=False,
        x_labels_major_every=max(1, len(rows) // 10),
        max_scale=6,
    )
    # Horizontal bars grow upwards: the first row shall stand on top.
    rows = list(reversed(rows)) if bars else rows
    made.x_labels = [
        " ".join(legible(str(row[at])) for at in labels if row[at] not in (None, "")) or "(none)" for row in rows
    ]
    for column, legend in chart.values:
        at = each.columns.index(column)
        made.add(legend, [row[at] for row in rows])
    return str(made.render(is_unicode=True))
