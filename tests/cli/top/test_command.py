"""`kcli top` on a terminal, and without one."""

import fcntl
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.cli.top.terminal import keys_in
from tests.broker.processes import served
from tests.processes import running


def test_without_a_terminal_it_says_what_to_use_instead(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", str(samples / "java44-txn.pcap")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("kcli: kcli top needs a terminal; elsewhere: kcli stats FILE") and error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--proxy", "x.pcap"], "--proxy shows the proxy's traffic"),
        (["-i", "lo", "x.pcap"], "-i and FILE: one of the two"),
        (["--bootstrap", "b:1"], "--bootstrap, --config, --listen: --proxy is missing"),
        (["--proxy", "--listen", "nowhere"], "--listen nowhere: HOST:PORT expected"),
    ],
)
def test_options_that_do_not_go_together(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", *words]) == 2
    assert capsys.readouterr().err.startswith(f"kcli: {said}")


def test_keys_have_names() -> None:
    assert [*keys_in("a\x1b[A\x1b[5~\r\x7f\x1b\x1b[Zé\x03")] == [
        "a", "up", "page up", "enter", "backspace", "escape", "back tab", "é", "interrupt",
    ]  # fmt: skip
    assert [*keys_in("\x1b[1;5Cx\x1b[200~")] == ["x"]


def shown_until(screen: int, part: bytes) -> bytes:
    text = b""
    while part not in text:
        assert select.select([screen], [], [], 60)[0], text
        text += os.read(screen, 1 << 16)
    return text


@contextmanager
def top_of(words: list[str], **environment: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """`kcli top WORDS` on a terminal of 80 columns, which is as it was at the end: (the other end, the process)."""
    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    before = termios.tcgetattr(terminal)
    with running(
        subprocess.Popen(
            [sys.executable, "-m", "kcli.cli", "top", *words],
            stdin=terminal, stdout=terminal, stderr=subprocess.PIPE, start_new_session=True,
            env={**os.environ, "TERM": "xterm", **environment}, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
    ) as process:  # fmt: skip
        yield screen, process
    assert termios.tcgetattr(terminal) == before
    os.close(screen)
    os.close(terminal)


@pytest.mark.parametrize("plain", [True, False])
def test_a_file_is_shown_on_a_terminal_until_q(samples: Path, plain: bool) -> None:
    environment = {"NO_COLOR": "1"} if plain else {}
    with top_of([str(samples / "java44-txn.pcap")], **environment) as (screen, process):
        text = shown_until(screen, b"ended")
        assert b"\x1b[?1049h" in text and b"[clients]" in text
        assert (b"\x1b[1m" in text or b"\x1b[7m" in text) != plain
        os.write(screen, b"\x03" if plain else b"q")
        shown_until(screen, b"\x1b[?1049l")
        assert process.wait(60) == 0
        assert process.stderr is not None and process.stderr.read() == b""


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_ends_the_proxy_that_feeds_the_screen(number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with served("--topic", "a") as broker:
        words = ["--proxy", "--bootstrap", broker.bootstrap, "--listen", f"127.0.0.1:{port}"]
        with top_of(words) as (screen, process):
            shown_until(screen, b"bootstrap.servers")
            socket.create_connection(("127.0.0.1", port)).close()
            process.send_signal(number)
            shown_until(screen, b"\x1b[?1049l")
            process.wait(60)
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port))
