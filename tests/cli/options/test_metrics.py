"""--metrics of live commands."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from kcli.cli.main import main
from kcli.metrics import dashboard
from tests.broker.processes import served
from tests.cli.capture.test_packet_capture import tool
from tests.cli.cluster.test_proxy import ask
from tests.diagnose.captured import DATA
from tests.processes import running
from tests.proxy.processes import proxied

KCLI = [sys.executable, "-m", "kcli.cli"]
BEHIND = DATA / "lagging-consumer-pageviews.pcap.zst"
SERVED = ("--metrics", "127.0.0.1:0")
PROMETHEUS = shutil.which("prometheus")


def got(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()  # type: ignore[no-any-return]


def until(look: Callable[[], Any]) -> Any:
    """What is looked for, as soon as it is there."""
    while not (found := look()):
        time.sleep(0.05)
    return found


def holding(url: str, part: str) -> str:
    """The page, as soon as it has this part."""
    return str(until(lambda: text if part in (text := got(url)) else ""))


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("capture") / "in.pcap"
    path.write_bytes(zstandard.ZstdDecompressor().decompressobj().decompress(BEHIND.read_bytes()))
    return path


def test_a_stream_that_goes_on_has_figures_and_findings(capture: Path, tmp_path: Path) -> None:
    """As a real Prometheus scrapes them, where there is one: each query of the dashboard is answered."""
    command = [*KCLI, "diagnose", "-", "--follow", "--format", "jsonl", "--metrics", "127.0.0.1:0"]
    pipe = subprocess.PIPE
    with running(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)) as process:
        assert process.stdin is not None and process.stderr is not None
        url = process.stderr.readline().decode().strip().removeprefix("metrics=").removesuffix("/metrics")
        assert got(f"{url}/healthz") == "ok\n"
        process.stdin.write(capture.read_bytes())
        process.stdin.flush()
        until(lambda: "kcli_requests_total{" in got(f"{url}/metrics"))
        assert got(f"{url}/ready") == "ok\n"
        if PROMETHEUS is not None:
            answered_by_prometheus(PROMETHEUS, url.removeprefix("http://"), tmp_path)
        process.stdin.close()
        assert process.wait(60) == 1
    if PROMETHEUS is None:
        pytest.skip("prometheus (Debian's package) is not installed: only the rest was tried")


def answered_by_prometheus(program: str, target: str, folder: Path) -> None:
    """Ask a real Prometheus, which scrapes this target, what the dashboard asks."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = folder / "prometheus.yml"
    scraping = {"job_name": "kcli", "scrape_interval": "200ms", "static_configs": [{"targets": [target]}]}
    config.write_text(json.dumps({"scrape_configs": [scraping]}))
    words = [
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with running(subprocess.Popen([program, *words, "--log.level=error"], stderr=subprocess.PIPE)):

        def asked(query: str) -> list[Any]:
            where = f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(query)}"
            try:
                return json.loads(got(where))["data"]["result"]  # type: ignore[no-any-return]
            except OSError:
                return []

        until(lambda: asked("count_over_time(kcli_requests_total[1m]) > 2"))
        expected = {"Requests per second", "Latency, 99th percentile", "Records per second", "Consumer lag"}
        for panel in dashboard.dashboard()["panels"]:
            query = panel["targets"][0]["expr"].replace("$__rate_interval", "1m")
            rows = asked(re.sub(r"\$(client|broker|topic)", ".*", query))
            assert rows or panel["title"] not in expected, query


def test_the_proxy_has_figures_of_what_passes() -> None:
    with served("--topic", "a:3") as broker, proxied("--bootstrap", broker.bootstrap, *SERVED, quiet=False) as proxy:
        ask(proxy.bootstrap, "Metadata", '{"topics":null}')
        text = holding(proxy.said["metrics"], "METADATA")
        assert f'kcli_requests_total{{api="METADATA",broker="{broker.bootstrap}",client="kcli"}} 1.0' in text
        assert got(proxy.said["metrics"].replace("/metrics", "/ready")) == "ok\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--metrics", "127.0.0.1:0"], 2, "kcli: --metrics: --follow is missing"),
        (["--follow", "--metrics", "nowhere"], 2, "kcli: --metrics nowhere: HOST:PORT expected"),
        (["--follow", "--metrics", "fd:900"], 2, "kcli: --metrics fd:900: no socket that listens"),
        (["--follow", "--metrics", "fd:x"], 2, "kcli: --metrics fd:x: no socket that listens"),
    ],
)
def test_a_place_that_makes_no_sense_is_one_line(
    words: list[str], code: int, said: str, samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", str(samples / "java44-txn.pcap"), *words]) == code
    error = capsys.readouterr().err
    assert error.startswith(said) and error.count("\n") == 1


def test_a_port_that_is_taken_ends_the_command(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        assert main(["diagnose", str(samples / "java44-txn.pcap"), "--follow", "--metrics", place]) == 4
    assert capsys.readouterr().err == f"kcli: cannot serve metrics on {place}: Address already in use\n"


def test_a_capture_has_figures_of_what_comes(capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, "tcpdump", f'cat "{capture}"; exec sleep 60')
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    command = [*KCLI, "capture", "--metrics", "127.0.0.1:0", "-o", str(tmp_path / "out.pcap")]
    with running(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)) as process:
        assert process.stderr is not None
        url = process.stderr.readline().strip().partition("=")[2]
        assert 'api="PRODUCE"' in holding(url, "kcli_requests_total{")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
