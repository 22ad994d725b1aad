"""The site is built: every page, no link that leads nowhere."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mkdocs")

from mkdocs.commands.build import build
from mkdocs.config import load_config

from kcli.rules import RULES
from kcli.schemas.catalog import catalog
from tools import site

ROOT = Path(__file__).parents[1]
SOME = ("Fetch", "Metadata", "PartitionRecord")


def few_pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[str]]]:
    """Yield all pages, most of them empty: to fill them, and to diagnose all captures, takes a while."""
    with monkeypatch.context() as patched:
        patched.setattr(site, "captures", lambda: [site.CAPTURES / "slow-broker-payments.pcap.zst"])
        for name, lines in site.pages():
            yield (
                name,
                list(lines) if Path(name).stem in (*SOME, "index", "rules", "errors") else [f"# {Path(name).stem}"],
            )


def test_every_link_leads_somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = list(few_pages(monkeypatch))
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path), strict=True)
    hook: Any = config.plugins["tools/site.py"]  # a module of its own
    monkeypatch.setattr(hook, "pages", lambda: few)
    build(config)
    made = {path.relative_to(tmp_path).with_suffix("").as_posix() for path in tmp_path.rglob("*.html")}
    assert made >= {
        path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")
    }
    assert made >= {f"reference/messages/{api.name}" for api in catalog().apis.values()}
    page = (tmp_path / "reference/rules.html").read_text("utf-8")
    assert 'src="../assets/worker.js"' in page and (tmp_path / "assets/worker.js").is_file()
    fetched = re.compile(r'<(?:script|link|img)[^>]*"https?:[^"]*"')
    assert not [path.name for path in tmp_path.rglob("*.html") if fetched.search(path.read_text("utf-8"))]
    assert all(f'id="{rule.finding}"' in page for rule in RULES)
    assert "In slow-broker-payments.pcap" in page
    found = json.loads((tmp_path / "search/search_index.json").read_text("utf-8"))["docs"]
    boosts = {each["title"]: each.get("boost", 1) for each in found}
    assert boosts["slow-broker"] > boosts["Messages"] == boosts["Installing"] > boosts["FetchRequest"]
    coded = (tmp_path / "reference/errors.html").read_text("utf-8")
    assert re.search(r"<td>74</td>\s*<td>FENCED_LEADER_EPOCH</td>\s*<td>yes</td>", coded)
    assert re.search(r"<td>NOT_LEADER_OR_FOLLOWER</td>.*rules\.html#leader-moves", coded, re.DOTALL)


def names(folder: Path, kind: str) -> set[str]:
    return {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob(f"*.{kind}")}


def test_links_to_files_outside_lead_to_the_repository() -> None:
    text = site.on_page_markdown("see [it](../../tests/x.py) and [more](tour.md)")
    assert text == f"see [it]({site.OUTSIDE}tests/x.py) and [more](tour.md)"


def test_lists_begin_behind_a_paragraph() -> None:
    text = "It does:\n- one\n  and more\n- two\n\n```\na\n- b\n```\n1. x"
    assert site.on_page_markdown(text).splitlines()[:3] == ["It does:", "", "- one"]
    assert site.on_page_markdown(text).splitlines()[3:] == [*text.splitlines()[2:-1], "", "1. x"]
