"""`import kcli`: the names that programs begin with, and what they cost."""

import contextlib
import inspect
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kcli
from kcli import errors

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", kcli.__all__)
def test_every_name_is_there_once_and_says_what_it_is(name: str) -> None:
    value = getattr(kcli, name)
    assert value is getattr(kcli, name)
    if name != "__version__":
        assert inspect.getdoc(value) and value.__module__.startswith("kcli.")
        assert value.__name__ == name and name in (kcli.__doc__ or "") + (errors.__doc__ or "")


def test_the_import_itself_loads_nothing() -> None:
    program = "import sys; before = set(sys.modules); import kcli; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) - {"__future__"} == {"kcli"}


def test_errors_cost_no_grammar() -> None:
    program = "import sys, kcli; kcli.KcliError; print('construct' in sys.modules, 'kcli.grammar' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_dir_shows_what_there_is() -> None:
    assert set(kcli.__all__) <= set(dir(kcli))
    with pytest.raises(AttributeError, match="module 'kcli' has no attribute 'read'"):
        _ = kcli.read  # type: ignore[attr-defined]


# What a newcomer would try first, word for word.
LINES = """
for x in kcli.read_capture("night.pcap", api="Fetch"):
    print(x.time, x.client_id, x.request["topics"], x.latency_ms)
for batch in kcli.read_segment("00000000000000000000.log"):
    for record in batch.records(): print(record.offset, record.key, record.value)
message = kcli.decode_request(frame); message.body["maxBytes"] = 1; frame = kcli.encode(message)
kcli.message("FetchRequest", 12).parse(data)
with kcli.embedded_broker() as broker: print(broker.bootstrap_servers)
"""


def test_the_first_lines_work_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = ROOT / "samples"
    (tmp_path / "night.pcap").symlink_to(samples / "java44-txn.pcap")
    (tmp_path / "00000000000000000000.log").symlink_to(samples / "orders-0" / "00000000000000000000.log")
    monkeypatch.chdir(tmp_path)
    fetch = kcli.Request({"requestApiKey": "Fetch", "requestApiVersion": 12, "correlationId": 1}, {"maxBytes": 7})
    data = kcli.message("FetchRequest", 12).build({"maxWaitMs": 5})
    names: dict[str, Any] = {"kcli": kcli, "frame": kcli.encode(fetch), "data": data}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(LINES, names)
    assert kcli.decode_request(names["frame"]).body["maxBytes"] == 1
    lines = printed.getvalue().splitlines()
    assert "lab-java" in lines[0] and lines[-2].startswith("481 b'customer-7' None") and "127.0.0.1:" in lines[-1]


def test_a_type_checker_knows_the_names(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import kcli\n"
        f"frame = data = b''\n{LINES}"
        "for x in kcli.read_capture('a', api='Fetch'):\n"
        "    reveal_type(x)\n"
        "for batch in kcli.read_segment('a'):\n"
        "    reveal_type(next(batch.records()).value)\n"
        "reveal_type(kcli.encode(kcli.decode_request(b'')))\n"
        "with kcli.embedded_broker() as broker:\n"
        "    reveal_type(broker.bootstrap_servers)\n"
        "kcli.nonsense\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", str(program)]  # with what mypy knows of kcli from `make check`
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    answer = [line.partition(": ")[2] for line in done.stdout.splitlines() if "program.py" in line]
    assert answer == [
        'note: Revealed type is "kcli.capture.kafka.exchange.Exchange"',
        'note: Revealed type is "bytes | None"',
        'note: Revealed type is "bytes"',
        'note: Revealed type is "str"',
        'error: Module has no attribute "nonsense"  [attr-defined]',
    ]
