"""The page in a real browser: cells under their heads, sorting, filtering, picking, charts, and names that hurt."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.diagnose.finding_text import FindingText
from kcli.report.asking import Answers
from kcli.report.page import render
from kcli.report.verdict import Finding, Verdict
from tests.report.answers import HOSTILE, answers_of, hostile_capture
from tests.report.browser import LINES, Page, chromium, order, reads

pytest.importorskip("duckdb")
pytest.importorskip("jinja2")

ROOT = Path(__file__).parents[2]
SHOTS = ROOT / "docs" / "how-to" / "report.png"
DRAWN = ("errors_over_time", "api_over_time")


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    captures = [path for path in sorted((ROOT / "samples").iterdir()) if path.suffix in (".pcap", ".pcapng")]
    return answers_of(captures)


@pytest.fixture(scope="module")
def report(answers: Answers, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(answers, "What the wire says: samples", "all captures"))
    return path


def test_every_cell_stands_under_its_head(page: Page, report: Path, answers: Answers) -> None:
    page.open(report)
    page.show_all()
    tables = page.tables()
    assert len(tables) > 9
    for name, asked in answers.by_name.items():
        if name in DRAWN or not asked.question.title or name == "totals":
            continue
        if not asked.rows:
            assert name not in tables
            continue
        assert tables[name]["heads"] == [column.removesuffix("_ns").replace("_", " ") for column in asked.columns]
        assert len(tables[name]["rows"]) == len(asked.rows)
        for shown, row in zip(tables[name]["rows"], asked.rows, strict=True):
            for text, value, column in zip(shown, row, asked.columns, strict=True):
                assert reads(text, value, column), (name, column, text, value)
    assert page.complaints() == []


def test_a_click_on_a_head_sorts(page: Page, report: Path, answers: Answers) -> None:
    page.open(report)
    page.show_all()
    asked = answers.by_name["pairs"]
    for column in ("client_id", "exchanges", "p99_ms", "api"):
        at = asked.columns.index(column)
        values = [row[at] for row in asked.rows]
        for _ in range(2):
            page.click("pairs", "th button", at)
            found = [row[at] for row in page.tables()["pairs"]["rows"]]
            turn = page.run("return document.querySelectorAll('#pairs th')[arguments[0]].getAttribute('aria-sort')", at)
            known = sorted((value for value in values if value is not None), key=order, reverse=turn == "descending")
            missing = [None] * (len(values) - len(known))
            assert all(
                reads(text, value, column) for text, value in zip(found, [*known, *missing], strict=True)
            ), (column, turn)  # fmt: skip
    assert page.run("return document.querySelectorAll('#pairs th[aria-sort]').length") == 1


def test_a_filter_filters(page: Page, report: Path, answers: Answers) -> None:
    page.open(report)
    asked = answers.by_name["pairs"]
    page.run(
        "const box = document.querySelector('#pairs input'); box.value = arguments[0];"
        "box.dispatchEvent(new Event('input'))",
        "METADATA",
    )
    page.show_all()
    rows = page.tables()["pairs"]["rows"]
    assert len(rows) == sum("METADATA" in row for row in asked.rows) > 0
    assert all("METADATA" in row for row in rows)
    assert f"{len(rows)} of {len(asked.rows)} rows" in page.run(
        "return document.querySelector('#pairs .under').textContent"
    )


def test_a_name_that_is_picked_leaves_what_concerns_it(page: Page, report: Path, answers: Answers) -> None:
    page.open(report)
    before = page.tables()
    name = page.run("const cell = document.querySelector('#clients .drill'); cell.click(); return cell.textContent")
    after = page.tables()
    for section in ("clients", "pairs", "sessions"):
        at = after[section]["heads"].index("client id")
        assert {row[at] for row in after[section]["rows"]} <= {name}
    assert after["apis"] == before["apis"]  # it says nothing of clients
    assert name in page.run("return document.getElementById('chips').textContent")
    page.run("document.querySelector('.chip').click()")
    assert page.tables() == before
    assert page.complaints() == []


@pytest.mark.parametrize("section", DRAWN)
def test_values_stand_under_the_pointer(section: str, page: Page, answers: Answers, report: Path) -> None:
    page.open(report)
    asked = answers.by_name[section]
    time, key = (asked.columns.index(name) for name in ("time_ns", "error" if section == DRAWN[0] else "api"))
    value = asked.columns.index("answers" if section == DRAWN[0] else "p99_ms")
    row = max(asked.rows, key=lambda row: row[value] or 0)
    assert answers.first_ns is not None and answers.last_ns is not None
    first, last = (each // answers.step for each in (answers.first_ns, answers.last_ns))
    found = page.run(LINES, section, (row[time] // answers.step - first) / (last + 1 - first))
    assert found is not None
    texts = dict(found[1])
    assert reads(texts[row[key]], row[value], asked.columns[value]), (texts, row)
    assert page.run("return document.querySelectorAll('canvas').length") == 2
    assert page.complaints() == []


def test_the_chart_shows_what_is_asked(page: Page, report: Path) -> None:
    page.open(report)
    for number in range(8):
        page.click("api_over_time", ".seg button", number)
    texts = "return [...document.querySelectorAll(`#api_over_time ${arguments[0]}`)].map(each => each.textContent)"
    assert page.run(texts, ".seg [aria-pressed=true]") == ["bytes", "by broker"]
    keys = page.run(texts, ".key")
    assert keys and all(":" in key for key in keys)
    page.click("api_over_time", ".key")
    assert page.run("return document.querySelector('#api_over_time .key').getAttribute('aria-pressed')") == "false"
    assert page.complaints() == []


FOCUS = "const it = document.activeElement; return [it.className, it.textContent, it.getAttribute('aria-pressed')]"


def test_by_the_keyboard_alone(page: Page, report: Path) -> None:
    """Values of a chart by the arrows; who presses a button that is made anew stays at it, or at what it picked."""
    page.open(report)
    tip = "const tip = document.querySelector('#errors_over_time .tip'); return tip.hidden ? '' : tip.textContent"
    page.run("document.querySelector('#errors_over_time .u-over').focus()")
    seen = []
    for key in ("\ue014", "\ue014", "\ue012"):  # right, right, left
        page.press(key)
        seen.append(page.run(tip))
    assert seen[0] == seen[2] != seen[1] and all(seen)
    page.press("\t")
    assert page.run(FOCUS)[0] == "key" and not page.run(tip)
    name = page.run(FOCUS)[1]
    page.press(" ")
    assert page.run(FOCUS) == ["key", name, "false"]
    page.run("document.querySelectorAll('#api_over_time .seg button')[1].focus()")
    page.press(" ")
    assert page.run(FOCUS)[1:] == ["p99", "true"]
    page.run("document.querySelector('#clients .drill').focus()")
    name = page.run(FOCUS)[1]
    page.press(" ")
    assert page.run(FOCUS)[:2] == ["chip", f"client id: {name}  ✕"]
    page.press(" ")
    assert page.run("return document.activeElement.closest('nav') !== null")


def test_letters_of_twice_the_size_fit(page: Page, report: Path) -> None:
    page.open(report)
    small = page.run("return getComputedStyle(document.body).fontSize")
    page.run("document.documentElement.style.fontSize = '200%'")
    assert page.run("return getComputedStyle(document.body).fontSize") == f"{2 * float(small[:-2]):g}px"
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 820, 1320])
def test_dark_and_light_narrow_and_wide(width: int, dark: bool, page: Page, report: Path) -> None:
    page.open(report, width, dark=dark)
    assert page.run("return document.documentElement.scrollWidth") <= width
    shade = page.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", shade)[:3])) < 300) == dark
    wide = page.run(
        "return Math.max(...[...document.querySelectorAll('canvas')].map(e => e.getBoundingClientRect().right))"
    )
    assert wide <= width
    page.run("document.getElementById('theme').click()")
    assert page.run("return document.documentElement.classList.contains('dark')") is not dark
    assert page.complaints() == []


def test_no_table_scrolls_sideways_on_a_laptop(page: Page, report: Path) -> None:
    page.open(report, 1280)
    page.show_all()
    wide = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
    assert page.run(f"return {wide}.map(e => e.closest('section').id)") == []


@pytest.mark.parametrize("width", [360, 420, 1320])
def test_findings_with_their_commands_fit(width: int, page: Page, answers: Answers, tmp_path: Path) -> None:
    query = "SELECT connection, client_id, closed, closed_by, closed_how, unanswered FROM connections ORDER BY closed"
    told = FindingText("slow-broker", "critical", "late", (("do", "wait"),), f'kcli sql "{query}" {"night" * 40}.pcap')
    path = tmp_path / "report.html"
    path.write_text(render(answers, "t", "s", Verdict("bad", "1 thing", [Finding("bad", "late", "", told)])))
    page.open(path, width)
    assert page.run("return document.documentElement.scrollWidth") <= width
    assert page.run("return document.querySelector('.told').innerText.split('\\n').map(each => each.trim())") == [
        "CRITICAL slow-broker late",
        "do: wait",
        f"see: {told.see}",
    ]
    assert page.complaints() == []


def test_names_that_hurt_are_only_shown(page: Page, tmp_path: Path) -> None:
    answers = answers_of([hostile_capture(tmp_path)])
    path = tmp_path / "report.html"
    path.write_text(render(answers, HOSTILE[0], HOSTILE[1]))
    page.open(path)
    page.show_all()
    tables = page.tables()
    shown = {row[0] for row in tables["clients"]["rows"]}
    assert shown >= {name for name in HOSTILE if name.isprintable()}
    assert "a\\u202eb\\x1b[31m" in shown
    assert {row[0] for row in tables["topics"]["rows"]} >= {name for name in HOSTILE if name.isprintable()}
    page.run("for (const each of [...document.querySelectorAll('.drill')].slice(0, 30)) each.click()")
    assert page.run("return [window.broken, document.querySelectorAll('img, script[src], main script').length]") == [
        None,
        0,
    ]
    assert page.run("return document.querySelector('h1').textContent") == HOSTILE[0]
    assert page.complaints() == []


def test_a_capture_without_kafka_says_so(page: Page, tmp_path: Path) -> None:
    (tmp_path / "empty.pcap").write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    path = tmp_path / "report.html"
    path.write_text(render(answers_of([tmp_path / "empty.pcap"]), "empty", ""))
    page.open(path)
    assert page.run("return document.querySelector('.verdict h2').textContent") == "No Kafka in here"
    assert page.tables() == {}
    assert page.complaints() == []


def test_a_picture_for_the_documents(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KCLI_SCREENSHOTS=1 renews docs/how-to/report.png."""
    report = tmp_path / "report.html"
    monkeypatch.chdir(ROOT / "tests/diagnose/data")
    assert main(["report", "slow-broker-payments.pcap.zst", "-o", str(report), "-q"]) == 0
    page.open(report, 1320, 1640)
    _, lines = page.run(LINES, "api_over_time", 0.52)
    assert {"FETCH", "PRODUCE"} <= {name for name, _ in lines}
    target = SHOTS if os.environ.get("KCLI_SCREENSHOTS") else tmp_path / "report.png"
    assert page.driver.save_screenshot(str(target))
    assert target.stat().st_size > 50_000
    assert page.complaints() == []
