"""The page's text: one file, nothing from the network, nothing runs that kcli did not put in."""

import base64
import hashlib
import html
import json
import re
from pathlib import Path

import pytest

from kcli.report.page import percent, render
from tests.capture.wires import pcap
from tests.report.answers import HOSTILE, answers_of, hostile_capture

pytest.importorskip("duckdb")
pytest.importorskip("jinja2")


@pytest.fixture
def page(tmp_path: Path) -> str:
    return render(answers_of([hostile_capture(tmp_path)]), HOSTILE[0], HOSTILE[5])


def test_it_needs_nothing_else(page: str) -> None:
    assert {each[:1] for each in re.findall(r'<[^>]+ (?:src|href)="([^"]*)"', page)} == {"#"}
    assert not re.search(r"@import|url\(", page)
    assert len(page) < 500_000


def test_the_policy_names_what_is_in_it(page: str) -> None:
    policy = html.unescape(page.partition('Content-Security-Policy" content="')[2].partition('"')[0])
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    for tag, count in ("script", 2), ("style", 2):
        bodies = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert len(bodies) == count
        for body in bodies:
            assert base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() in policy


def test_hostile_names_are_text(page: str) -> None:
    assert "window.broken = 1</script>" not in page and "<img" not in page
    assert "\u202e" not in page and "\x1b" not in page
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    columns, rows = (data["answers"]["clients"][name] for name in ("columns", "rows"))
    assert {row[columns.index("client_id")] for row in rows} >= {name for name in HOSTILE if name.isprintable()}


def test_of_what_could_not_be_read_nothing_is_said(page: str, tmp_path: Path) -> None:
    """In TLS without keys nobody knows who was throttled."""
    (path := tmp_path / "sealed.pcap").write_bytes(pcap([]))
    sealed = render(answers_of([path]), "sealed", "")
    for text, there in (("Nobody was throttled.", page), ("Unknown: no exchange could be read.", sealed)):
        assert text in there and text not in (sealed if there is page else page)


def test_the_library_comes_with_its_licence() -> None:
    assets = Path(__file__).parents[2] / "kcli" / "report" / "assets"
    assert "MIT License" in (assets / "uPlot-LICENSE").read_text()
    assert (assets / "uPlot.iife.min.js").read_text().startswith("/*! https://github.com/leeoniya/uPlot (v1.6.32) */")


def test_a_share_is_none_only_if_it_is() -> None:
    shares = (0, 2 / 4391, 0.078, 0.9999, 1)
    assert [percent(share) for share in shares] == ["0.0%", "<0.1%", "7.8%", ">99.9%", "100.0%"]
