"""Little address space: an answer, or one line of error; no abort, no traceback."""

import resource
import subprocess
import sys

import pytest

from kcli import address_space
from kcli.address_space import Guard, is_shortage, modest
from kcli.errors import InputError
from kcli.tables.duckdb_engine import open_duckdb

MIB = 1 << 20
CAPTURE = "samples/kcat-codecs.pcap"
SQL = ["sql", "SELECT count(*) AS n FROM exchanges", CAPTURE, "--format", "csv"]
STATS = ["stats", CAPTURE, "--where", "latency_ms >= 0", "--format", "jsonl"]


def within(mib: int, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run kcli in so much address space."""
    code = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_AS, ({mib * MIB}, {mib * MIB}))\n"
        "from kcli.cli.__main__ import start; sys.exit(start())"
    )
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [SQL, STATS], ids=["sql", "where"])
def test_a_query_is_answered_in_little_address_space(words: list[str]) -> None:
    done = within(800, words)
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr
    assert done.stdout


def test_too_little_of_it_is_one_line() -> None:
    done = within(420, ["diagnose", CAPTURE])
    assert done.returncode == 3
    assert done.stderr.startswith("kcli: out of memory: ") and done.stderr.endswith("(see ulimit -v)\n")
    assert done.stderr.count("\n") == 1


def test_nothing_changes_where_there_is_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    before = list(sys.meta_path)
    address_space.save()
    assert sys.meta_path == before
    assert modest(512) == {"memory_limit": "512MiB"}


def test_a_library_is_loaded_where_there_is_room_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard()
    for room in (None, 320 * MIB):
        monkeypatch.setattr(address_space, "left", lambda room=room: room)
        guard.find_spec("duckdb")
    monkeypatch.setattr(address_space, "left", lambda: 320 * MIB - 1)
    guard.find_spec("json")
    guard.find_spec("duckdb.typing")
    with pytest.raises(InputError, match="duckdb needs 320 MiB of address space, and 319 MiB are left"):
        guard.find_spec("duckdb")


def test_duckdb_takes_a_third_of_what_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr(address_space, "left", lambda: 600 * MIB)
    connection = open_duckdb((), 512, str(tmp_path))
    query = "SELECT current_setting('memory_limit'), current_setting('threads')"
    assert connection.execute(query).fetchall() == [("200.0 MiB", 1)]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (RuntimeError("can't start new thread"), True),
        (ImportError("libarrow.so: failed to map segment from shared object"), True),
        (RuntimeError("another"), False),
        (ValueError("can't start new thread"), False),
    ],
)
def test_errors_that_say_there_is_no_memory(error: Exception, expected: bool) -> None:
    assert is_shortage(error) is expected


def test_duckdb_out_of_memory_is_a_shortage(tmp_path: object) -> None:
    connection = open_duckdb((), 1, str(tmp_path))
    with pytest.raises(Exception, match="Out of Memory") as raised:
        connection.execute("SELECT list(range) FROM range(10000000)").fetchall()
    assert is_shortage(raised.value)
