"""The page: all in one file, nothing from the network, values as people read them."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Any

import pytest

from kcli.pipeline.html_report import cell, render
from kcli.pipeline.queries import QUESTIONS
from kcli.pipeline.report import Answered

if not (find_spec("jinja2") and find_spec("pygal")):
    pytest.skip("jinja2 and pygal draw the page", allow_module_level=True)

ROWS: dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]] = {
    "refused": (("client", "requests", "verdict"), [("<old & co>", 1234, "refused")]),
    "conversions": (("client_id", "fetch_version", "eager_bytes", "lazy_bytes", "converted_bytes"), []),
    "leaders": (("client_id", "api", "changes", "lost_p50_ms", "lost_most_ms"), [("c", "FETCH", 2, 1.5, None)]),
    "apis": (("api", "exchanges"), [("FETCH", 10), ("PRODUCE", 5)]),
    "traffic": (("minute", "request_bytes", "response_bytes"), [("10:00", 5, 2048), ("10:01", 7, 4096)]),
    "lineage": (("packets", "unaccounted"), [(100, 0)]),
}


def answers() -> list[Answered]:
    return [Answered(each, *ROWS.get(each.name, (("x",), []))) for each in QUESTIONS]


def test_the_page_needs_nothing_else() -> None:
    page = render(answers(), "title", "subtitle")
    assert page.count("<svg") == 4
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    assert "&lt;old &amp; co&gt;" in page
    assert "<old" not in page
    for question in QUESTIONS:
        assert f'id="{question.name}"' in page
    assert "No fetch asked for an older format." in page


def test_its_first_line_has_the_sums() -> None:
    page = render(answers(), "title", "subtitle")
    found = dict(re.findall(r"<div><b>([^<]*)</b>([^<]*)</div>", page))
    assert found["100"] == "packets"
    assert found["15"] == "exchanges"
    assert found["1"] == "clients refused"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("bytes", 999, "999 B"), ("request_bytes", 2048, "2.0 KiB"), ("requests", 1234567, "1,234,567"),
        ("ms", 1.5, "1.5"), ("ms", 2.0, "2"), ("x", None, ""), ("complete", True, "yes"), ("partition", 1234, "1234"),
    ],
)  # fmt: skip
def test_values_as_people_read_them(name: str, value: Any, text: str) -> None:
    assert cell(name, value) == text
