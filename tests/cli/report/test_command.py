"""`kcli report` as a command: captures and tables in, a page out, and what it refuses."""

import html
import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kcli.cli.main import main
from tests.capture.messages import request
from tests.capture.wires import Wire, pcap
from tests.diagnose.captured import DATA
from tests.processes import ended

pytest.importorskip("duckdb")
pytest.importorskip("jinja2")
EMPTY = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")


def test_a_page(samples: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report.html"
    assert main(["report", str(samples / "java44-txn.pcap"), str(samples / "ipv6.pcapng"), "-o", str(out)]) == 0
    page = out.read_text()
    assert page.startswith("<!doctype html>") and "What the wire says: java44-txn.pcap, ipv6.pcapng" in page
    assert "<dt>captured</dt><dd>7.3 s</dd>" in page  # of the two, not the hours between them
    captured = capfd.readouterr()
    assert captured.err == f"report in {out} ({out.stat().st_size // 1000:,} kB)\n" and captured.out == ""


def test_a_folder_and_standard_output(samples: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["report", str(samples), "-o", "-", "--quiet"]) == 0
    captured = capfdbinary.readouterr()
    assert captured.out.startswith(b"<!doctype html>") and captured.err == b""


def test_a_page_of_what_is_chosen(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, path = tmp_path / "r.html", str(samples / "java44-txn.pcap")
    for words in (["--api", "Produce"], ["--where", "api = 'Produce'"], ["--errors=PRODUCER_FENCED"]):
        assert main(["report", path, *words, "-o", str(out)]) == 0
        assert "java44-txn.pcap, only --" in out.read_text()
    assert main(["report", path, "--client", "nobody", "-o", str(out), "-q"]) == 1
    assert main(["report", path, "--client", "nobody", "-o", str(out)]) == 1
    assert "nothing matches; clients here: lab-java" in capsys.readouterr().err
    (tmp_path / "tables" / "_kcli").mkdir(parents=True)
    assert main(["report", str(tmp_path / "tables"), "--errors", "-o", str(out)]) == 2
    assert "the options that choose exchanges are for captures" in capsys.readouterr().err


def test_tables_that_need_too_much_memory_are_refused(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Anybody may have made them. The page of before stays."""
    monkeypatch.setattr("kcli.report.engine.TABLES_MEMORY", 1)
    path, folder, out = samples / "java44-txn.pcap", tmp_path / "tables", tmp_path / "r.html"
    assert main(["pipeline", "run", "--engine", "local", "--input", str(path), "--output", str(folder), "-q"]) == 0
    capsys.readouterr()
    out.write_text("before")
    assert main(["report", str(folder), "-o", str(out)]) == 3
    said = capsys.readouterr().err
    assert "texts in these tables are too long" in said and said.count("\n") == 1 and out.read_text() == "before"


def test_of_requests_alone_nobody_knows_the_errors(tmp_path: Path) -> None:
    """Their times are those of the capture, too, and not of its end, when all of them are without a response."""
    wire = Wire().open()
    for number in range(3):
        wire.client(request(3, 0, number, {"topics": []}, "web"))
        wire.now += 60 * 10**9
    (tmp_path / "a.pcap").write_bytes(pcap(wire.packets))
    assert main(["report", str(tmp_path / "a.pcap"), "-q", "-o", str(tmp_path / "r.html")]) == 0
    page = (tmp_path / "r.html").read_text()
    assert page.count("Unknown: no response could be read.") == 2 and "with errors" not in page.partition("<section")[0]
    first, last = re.findall(r"(\d\d:\d\d):\d\d UTC", page)[:2]
    assert first != last


def test_the_page_and_the_terminal_tell_a_finding_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Severity, times, what was ruled out and the command that shows more."""
    file, out = str(DATA / "busy-fetch-pricing.pcap.zst"), tmp_path / "report.html"
    assert main(["diagnose", file, "-q"]) == 1
    *lines, _checked = capsys.readouterr().out.splitlines()
    assert main(["report", file, "-q", "-o", str(out)]) == 0
    verdict = out.read_text().partition('<div class="verdict')[2].partition("</ul>")[0]
    told = " ".join(html.unescape(re.sub("<[^>]+>", " ", verdict)).split())
    assert len(lines) == 4 and "; 12:31:18Z to the end" in told
    assert all(" ".join(line.split()) in told for line in lines)


def test_no_kafka_has_a_page_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "empty.pcap").write_bytes(EMPTY)
    assert main(["report", str(tmp_path / "empty.pcap"), "-o", str(tmp_path / "out.html"), "-q"]) == 3
    assert "No Kafka in here" in (tmp_path / "out.html").read_text()


def test_what_can_be_read_of_a_damaged_file(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((samples / "java44-txn.pcap").read_bytes()[:40_000] + b"\xff" * 40)
    out = tmp_path / "out.html"
    assert main(["report", str(cut), "-o", str(out), "-q"]) == 3
    assert "lab-java" in out.read_text() and ": nothing found</h2>" in out.read_text()  # as diagnose concludes
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["report", str(cut), "-o", str(out)]) == 3
    assert capsys.readouterr().err.startswith(f"report in {out} (")


def test_standard_input_has_the_page_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is chosen of it is read again, from a copy that no command names."""
    file, out, expected = DATA / "busy-fetch-pricing.pcap.zst", tmp_path / "report.html", tmp_path / "expected.html"
    for words in ([], ["--api", "Fetch"]):
        assert main(["report", str(file), "-q", "-o", str(expected), *words]) == 0
        with file.open("rb") as source:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source))
            assert main(["report", "-", "-q", "-o", str(out), *words]) == 0
        page = out.read_text()
        assert ": 1 warning</h2>" in page and "<code>kcli stats - --by client --by api</code>" in page
        data = [text.partition('id="data">')[2].partition("</script>")[0] for text in (page, expected.read_text())]
        assert data[0] == data[1] != ""


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["{missing}", "-o", "{out}"], 3, "missing: No such file or directory"),
        (["{garbage}", "-o", "{out}"], 3, "not a capture"),
        (["{capture}", "-o", "{capture}"], 2, "is the input"),
        (["{capture}"], 2, "Missing option '-o'"),
        (["{folder}", "-o", "{out}"], 3, "no capture in this directory"),
    ],
)
def test_what_is_wrong_is_one_line(
    words: list[str], code: int, why: str, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {name: tmp_path / name for name in ("garbage", "out", "folder", "missing")}
    places["capture"] = tmp_path / "capture.pcap"
    places["capture"].write_bytes((samples / "ipv6.pcapng").read_bytes())
    places["garbage"].write_bytes(b"GIF89a" + bytes(100))
    places["folder"].mkdir()
    before = places["capture"].read_bytes()
    assert main(["report", *(word.format(**places) for word in words)]) == code
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and why in said
    assert not places["out"].exists() and places["capture"].read_bytes() == before


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    out, temporary = tmp_path / "out.html", tmp_path / "temporary"
    temporary.mkdir()
    words = [sys.executable, "-m", "kcli.cli", "report", "-", "-o", str(out)]
    with ended(
        subprocess.Popen(
            words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(temporary)}
        )
    ) as process:
        assert process.stdin is not None
        process.stdin.write(EMPTY)
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while not [*temporary.glob("kcli-diagnose-*")]:  # for facts that are more than memory
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read() if process.stderr is not None else b""
    assert process.returncode == 130 and said == b""
    assert [*tmp_path.rglob("*")] == [temporary]


def test_messages_name_standard_input_not_its_copy(samples: Path, tmp_path: Path) -> None:
    out, cut = tmp_path / "r.html", (samples / "java44-txn.pcap").read_bytes()[:-10]
    words = [sys.executable, "-m", "kcli.cli", "report", "-", "-o", str(out), "--api", "Produce"]
    done = subprocess.run(words, input=cut, capture_output=True, check=False)
    assert done.returncode == 3 and b"kcli: standard input: the file ends" in done.stderr
    for told in (done.stderr.decode(), out.read_text()):
        assert "kcli-pipe-" not in told
