"""A headless Chromium that shows a page from a file. Without it the tests are skipped, and fail where CI is set."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["LINES", "Page", "chromium", "order", "reads"]

UNITS = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "ms": 1}

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--disable-dev-shm-usage",
)  # fmt: skip
# A page as a script sees it: of each table its heads and the texts of its rows.
TABLES = """
return Object.fromEntries([...document.querySelectorAll("section")].filter(each => each.querySelector("table"))
  .map(each => [each.id, {heads: [...each.querySelectorAll("th")].map(head => head.textContent),
    rows: [...each.querySelectorAll("tbody tr")].map(row => [...row.cells].map(cell => cell.textContent))}]))
"""
# What stands under the pointer at a share of a chart's width: its time, and each line's name and value.
LINES = """
const plot = document.querySelector(`#${arguments[0]} .u-over`), box = plot.getBoundingClientRect();
const at = {clientX: box.left + box.width * arguments[1], clientY: box.top + box.height / 2, bubbles: true};
plot.dispatchEvent(new MouseEvent("mouseenter", at)); plot.dispatchEvent(new MouseEvent("mousemove", at));
return new Promise(done => setTimeout(() => {
  const tip = plot.querySelector(".tip");
  done(tip.hidden ? null : [tip.querySelector("b").textContent,
    [...tip.querySelectorAll("div")].map(each => [...each.children].map(part => part.textContent))]);
}, 50))
"""


class Page:
    """A page in the browser."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path, width: int = 1320, height: int = 1000, *, dark: bool = False) -> None:
        """Show a file in a window of that size."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(path.absolute().as_uri())

    def run(self, script: str, *values: Any) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script, *values)

    def press(self, key: str) -> None:
        """Press a key where the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(key).perform()

    def tables(self) -> dict[str, dict[str, Any]]:
        """By section: heads, and the rows that are shown."""
        made: dict[str, dict[str, Any]] = self.run(TABLES)
        return made

    def show_all(self) -> None:
        """Every row of every table."""
        self.run("for (const each of document.querySelectorAll('.more')) if (!each.hidden) each.click()")

    def click(self, section: str, selector: str, number: int = 0) -> None:
        """Click an element of a section."""
        self.run(
            "document.querySelectorAll(`#${arguments[0]} ${arguments[1]}`)[arguments[2]].click()",
            section,
            selector,
            number,
        )

    def complaints(self) -> list[str]:
        """What the browser's console says, and forbids."""
        return [each["message"] for each in self.driver.get_log("browser")]


@contextmanager
def chromium() -> Iterator[Page]:
    """A browser of its own."""
    paths = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None in paths or not has_selenium():
        why = "the page is looked at in Chromium: apt-get install chromium chromium-driver, pip install selenium"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory(prefix="kcli-chromium-", ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(paths[1]))
        try:
            yield Page(driver)
        finally:
            driver.quit()


def has_selenium() -> bool:
    from importlib.util import find_spec

    return find_spec("selenium") is not None


def reads(text: str, value: Any, column: str) -> bool:
    """Whether a cell's text is that value."""
    if value is None:
        return text == ""
    if column.endswith("_ns"):
        return bool(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{3})?", text))
    if isinstance(value, str):
        return text == (value or "(none)") or (text, value) == ("", "")
    number, _, unit = text.replace(",", "").partition(" ")
    return float(number) * UNITS[unit] == pytest.approx(value, rel=0.06, abs=0.051)


def order(value: Any) -> Any:
    """As the page sorts texts: letters before their case."""
    return (re.sub(r"[^a-z0-9]", "", value.lower()), value) if isinstance(value, str) else value
