"""Modules and names that are imported when they are asked for."""

import ast
import builtins
import importlib
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from kcli.lazy import importing, postpone

ROOT = Path(__file__).parents[1]
PACKAGES = ("kcli.broker", "kcli.records", "kcli.snapshots")
LAZY = [
    ".".join(path.parent.relative_to(ROOT).parts)
    for path in sorted((ROOT / "kcli").rglob("__init__.py"))
    if "from kcli.lazy import importing" in path.read_text()
]


@pytest.mark.parametrize("package", LAZY)
def test_every_name_has_its_home(package: str) -> None:
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is vars(module)[name]
    with pytest.raises(AttributeError, match=rf"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


def test_names_that_are_imported_from_such_packages_are_offered() -> None:
    """No type checker says so: to it, a module with `__getattr__` has every name."""
    assert set(PACKAGES) < set(LAZY)
    missing = [
        f"{place}: {package}.{name}" for place, package, name in imported_names() if not is_offered(package, name)
    ]
    assert not missing, missing


def imported_names() -> Iterator[tuple[str, str, str]]:
    for folder in ("kcli", "tests", "tools", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            if not any(f"from {package} import" in text for package in LAZY):  # takes far less time than to parse it
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ImportFrom) and node.module in LAZY:
                    yield from ((f"{path}:{node.lineno}", node.module, each.name) for each in node.names)


def is_offered(package: str, name: str) -> bool:
    return hasattr(importlib.import_module(package), name) or bool(importlib.util.find_spec(f"{package}.{name}"))


def test_a_package_alone_imports_nothing_below_it() -> None:
    script = f"import sys, {', '.join(PACKAGES)}; print(*(name for name in sys.modules if name.count('.') > 1))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not [name for name in done.stdout.split() if name.startswith(PACKAGES)]


def test_a_name_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("made")
    monkeypatch.setitem(sys.modules, "made", package)
    monkeypatch.setitem(sys.modules, "made.below", ModuleType("made.below"))
    monkeypatch.setattr(sys.modules["made.below"], "one", 1, raising=False)
    load = importing("made", {"below": "one two"})
    assert load("one") == 1 and vars(package)["one"] == 1
    with pytest.raises(AttributeError):
        load("two")


def test_a_capture_without_tls_loads_none_of_it() -> None:
    names = ("kcli.capture.tls.session", "kcli.capture.tls.handshake", "difflib")
    script = "import sys, kcli.capture.tls.layer, kcli.capture.filters; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(names) & set(done.stdout.split())


def test_records_of_files_need_no_client() -> None:
    script = "import sys, kcli.cli.records.command; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"asyncio", "ssl", "concurrent.futures"} & set(done.stdout.split())


CLUSTERS = [f"tests/diagnose/data/{name}.pcap.zst" for name in ("path-mtu", "topic-refused-once")]


@pytest.mark.parametrize(
    "work",
    [
        "import kcli.sql.conditions; kcli.sql.conditions.SqlCondition('latency_ms > 1').close()",
        f"from kcli.diagnose.diagnosis import diagnose; diagnose({CLUSTERS!r})",  # each cluster on its own
    ],
    ids=["condition", "diagnose"],
)
def test_arrow_does_not_ask_pandas(work: str) -> None:
    """PyArrow imports pandas, if that is there, to look at Python's values; it takes as long as all the rest."""
    done = subprocess.run(
        [sys.executable, "-c", f"{work}\nimport sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert not {"pandas", "polars"} & set(done.stdout.split())


def test_a_postponed_module_is_loaded_when_something_of_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    postpone("colorsys", "no_such_module")
    module = importlib.import_module("colorsys")
    assert "hsv_to_rgb" not in vars(module) and "no_such_module" not in sys.modules
    from colorsys import hsv_to_rgb

    assert vars(module)["hsv_to_rgb"] is hsv_to_rgb and hsv_to_rgb(0, 0, 1) == (1, 1, 1)
    with pytest.raises(AttributeError, match="module 'colorsys' has no attribute 'nothing'"):
        _ = module.nothing
    postpone("colorsys")
    assert sys.modules["colorsys"] is module and vars(module)["hsv_to_rgb"] is hsv_to_rgb


def test_other_threads_wait_for_a_postponed_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One that asked meanwhile was told that there is no such name."""
    (tmp_path / "slow_to_load.py").write_text(
        "import builtins, sys\nbegun, go = builtins.begun_and_go\nbegun.set()\ngo.wait(60)\n"
        "early = hasattr(sys.modules[__name__], 'thing')\nthing = 1\n"
    )
    begun, go, asks = threading.Event(), threading.Event(), threading.Event()
    monkeypatch.setattr(builtins, "begun_and_go", (begun, go), raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    postpone("slow_to_load")
    module = sys.modules["slow_to_load"]
    found: list[object] = []

    def ask() -> None:
        asks.set()
        found.append(getattr(module, "thing", "there is none"))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    threads[0].start()
    assert begun.wait(60)
    asks.clear()
    threads[1].start()
    threads[2].start()
    assert asks.wait(60)
    threads[1].join(0.2)  # it waits, or has been told the wrong thing by now
    go.set()
    for each in threads:
        each.join(60)
    assert found == [1, 1, 1] and not module.early
    del sys.modules["slow_to_load"]
