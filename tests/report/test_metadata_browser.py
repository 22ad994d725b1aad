"""The page on a metadata log in a real browser: cells under heads, sorting, picking, charts, names that hurt."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.report.asking import Answers
from kcli.report.metadata_answers import read_metadata
from tests.report.answers import HOSTILE
from tests.report.browser import LINES, Page, chromium, order, reads
from tests.snapshots.files import partition_folder
from tests.snapshots.quorums import eventful

pytest.importorskip("jinja2")

DRAWN = {"states_over_time": ("state", "partitions"), "changes_over_time": ("record", "records")}
FOLDER = str(partition_folder("440-three/n1"))


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def answers() -> Answers:
    return read_metadata([FOLDER]).answers


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    assert main(["report", FOLDER, "-o", str(path), "-q"]) == 0
    return path


def test_every_cell_stands_under_its_head(page: Page, report: Path, answers: Answers) -> None:
    page.open(report)
    page.show_all()
    tables = page.tables()
    for name, asked in answers.by_name.items():
        if name in DRAWN:
            continue
        assert tables[name]["heads"] == [column.removesuffix("_ns").replace("_", " ") for column in asked.columns]
        assert len(tables[name]["rows"]) == len(asked.rows) > 0
        for shown, row in zip(tables[name]["rows"], asked.rows, strict=True):
            for text, value, column in zip(shown, row, asked.columns, strict=True):
                assert reads(text, value, column), (name, column, text, value)
    assert page.complaints() == []


SORTED = (("leaders", "changes"), ("leaders", "last_ns"), ("broker_events", "state"), ("growth", "bytes"))


@pytest.mark.parametrize(("section", "column"), SORTED)
def test_a_click_on_a_head_sorts(section: str, column: str, page: Page, report: Path, answers: Answers) -> None:
    page.open(report)
    page.show_all()
    asked = answers.by_name[section]
    at = asked.columns.index(column)
    for turn in ("ascending", "descending") if column == "state" else ("descending", "ascending"):
        page.click(section, "th button", at)
        head = "return document.querySelectorAll(`#${arguments[0]} th`)[arguments[1]].getAttribute('aria-sort')"
        assert page.run(head, section, at) == turn
        found = [row[at] for row in page.tables()[section]["rows"]]
        known = sorted((row[at] for row in asked.rows), key=order, reverse=turn == "descending")
        assert all(reads(text, value, column) for text, value in zip(found, known, strict=True)), turn
    assert page.complaints() == []


def test_a_broker_that_is_picked(page: Page, report: Path) -> None:
    page.open(report)
    before = page.tables()
    number = page.run("const cell = document.querySelector('#brokers .drill'); cell.click(); return cell.textContent")
    after = page.tables()
    for section in ("brokers", "broker_events"):
        at = after[section]["heads"].index("broker")
        assert {row[at] for row in after[section]["rows"]} == {number}
    assert after["leaders"] == before["leaders"]
    page.run("document.querySelector('.chip').click()")
    assert page.tables() == before
    assert page.complaints() == []


@pytest.mark.parametrize("section", DRAWN)
def test_values_stand_under_the_pointer(section: str, page: Page, report: Path, answers: Answers) -> None:
    page.open(report)
    key, measured = DRAWN[section]
    asked = answers.by_name[section]
    time, name, value = (asked.columns.index(each) for each in ("time_ns", key, measured))
    row = max(asked.rows, key=lambda each: each[value])
    assert answers.first_ns is not None and answers.last_ns is not None
    first, last = (each // answers.step for each in (answers.first_ns, answers.last_ns))
    found = page.run(LINES, section, (row[time] // answers.step - first) / (last + 1 - first))
    assert found is not None
    assert reads(dict(found[1])[row[name]], row[value], measured), (found, row)
    page.click("changes_over_time", ".seg button", 1)
    assert page.run("return document.querySelectorAll('canvas').length") == 2
    assert page.complaints() == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1280])
def test_dark_and_light_narrow_and_wide(width: int, dark: bool, page: Page, report: Path) -> None:
    page.open(report, width, dark=dark)
    assert page.run("return document.documentElement.scrollWidth") <= width
    assert page.run("return document.querySelectorAll('details.sql').length") == 0
    assert page.complaints() == []


def test_names_that_hurt_are_only_shown(page: Page, tmp_path: Path) -> None:
    place, out = eventful(tmp_path, HOSTILE), tmp_path / "report.html"
    assert main(["report", str(place), "-o", str(out), "-q"]) == 0
    page.open(out)
    page.show_all()
    tables = page.tables()
    assert {row[0] for row in tables["short_partitions"]["rows"]} >= {name for name in HOSTILE if name.isprintable()}
    page.run("for (const each of [...document.querySelectorAll('.drill')].slice(0, 30)) each.click()")
    assert page.run("return [window.broken, document.querySelectorAll('img, script[src], main script').length]") == [
        None,
        0,
    ]
    assert page.run("return document.querySelector('.verdict h2').textContent").endswith(" things to mend")
    assert page.complaints() == []


def test_a_snapshot_without_a_log(page: Page, samples: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert main(["report", str(samples / "__cluster_metadata-0"), "-o", str(out), "-q"]) == 0
    page.open(out)
    assert page.tables()["brokers"]["rows"]
    assert "No log shows how it came to this state." in page.run("return document.body.textContent")
    assert page.complaints() == []
