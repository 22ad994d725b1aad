"""Key logs: both forms, what is none, what grows."""

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path

import pytest

from kcli.capture.tls import protection
from kcli.capture.tls.handshake import Handshake
from kcli.capture.tls.keylog import DERIVATION, Effort, FollowedFile, KeyLog
from kcli.errors import InputError
from tests.capture.wires import DATA

RANDOM, SECRET = bytes(range(32)), bytes(range(48))


def log_of(folder: Path, text: str) -> KeyLog:
    path = folder / "keys.log"
    path.write_text(text)
    return KeyLog([str(path)])


def test_a_line_by_the_clients_random(tmp_path: Path) -> None:
    log = log_of(tmp_path, f"# a comment\n\nCLIENT_RANDOM {RANDOM.hex()} {SECRET.hex().upper()}\n")
    assert log.master(RANDOM, b"", b"") == SECRET
    assert log.master(bytes(32), b"", b"") is None


@pytest.mark.parametrize(
    ("start", "between", "end"), [("\ufeff", " ", "\n"), ("", "\t", "\r\n"), ("", "  ", " \r\n"), ("\ufeff", " ", "")]
)
def test_what_editors_make_of_a_line(start: str, between: str, end: str, tmp_path: Path) -> None:
    line = f"{start}{between.join(['CLIENT_RANDOM', RANDOM.hex(), SECRET.hex()])}{end}".encode()
    (tmp_path / "keys.log").write_bytes(line)
    added = KeyLog()
    added.add(line)
    for log in (KeyLog([str(tmp_path / "keys.log")]), added):
        assert log.master(RANDOM, b"", b"") == SECRET


@pytest.mark.parametrize(("mark", "encoding"), [(BOM_UTF16_LE, "utf-16-le"), (BOM_UTF16_BE, "utf-16-be")])
def test_a_log_that_powershell_writes(tmp_path: Path, mark: bytes, encoding: str) -> None:
    """It grows between the halves of a unit, too."""
    path = tmp_path / "keys.log"
    lines = [f"CLIENT_RANDOM {number:064x} {SECRET.hex()}\r\n" for number in range(3)]
    data = mark + "".join(["# keys\r\n", *lines]).encode(encoding)
    path.write_bytes(data[: len(data) // 2 + 1])
    log = KeyLog([str(path)])
    assert log.count == 1
    path.write_bytes(data)
    assert [log.master(number.to_bytes(32, "big"), b"", b"") for number in range(3)] == [SECRET] * 3
    path.write_bytes(mark + "hello\r\n".encode(encoding))
    with pytest.raises(InputError, match="no line of a key log"):
        KeyLog([str(path)])


def test_a_line_by_the_sessions_id(tmp_path: Path) -> None:
    log = log_of(tmp_path, f"RSA Session-ID:{RANDOM.hex()} Master-Key:{SECRET.hex()}\n")
    assert log.master(bytes(32), RANDOM, b"") == SECRET


def test_a_ticket_has_the_secret_of_its_session(tmp_path: Path) -> None:
    log = log_of(tmp_path, f"CLIENT_RANDOM {RANDOM.hex()} {SECRET.hex()}\n")
    log.remember_ticket(Handshake(client_random=RANDOM, certified=True), b"\0\0\0\1\0\6ticket")
    assert log.master(bytes(32), b"", b"ticket") == SECRET
    log.remember_ticket(Handshake(client_random=RANDOM), b"\0\0\0\1\xff\xffcut")
    assert log.master(bytes(32), b"", b"cut") is None


@pytest.mark.parametrize(
    "text",
    [
        "CLIENT_RANDOM 00 00\n",
        "hello\n",
        "\0\0\0",
        "\x1f\x8b\x08",
        "\x89PNG\r\n",
        f"CLIENT_RANDOM {RANDOM.hex()} 0011\n",
    ],
)
def test_what_is_no_key_log(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="no line of a key log"):
        log_of(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        KeyLog([str(tmp_path / "missing.log")])


def test_a_line_may_be_cut_where_it_is_still_written(tmp_path: Path) -> None:
    line = f"CLIENT_RANDOM {RANDOM.hex()} {SECRET.hex()}\n"
    path = tmp_path / "keys.log"
    log = log_of(tmp_path, "# begun\n" + line[:100])
    assert log.master(RANDOM, b"", b"") is None
    with path.open("a") as file:
        file.write(line[100:])
    assert log.master(RANDOM, b"", b"") == SECRET


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    log = KeyLog([str(DATA / "tls-resumed.keys")])
    count = log.count
    assert count > 10
    log.add((DATA / "tls-resumed.keys").read_bytes())
    assert log.count == count


def test_vain_tries_have_a_bound() -> None:
    effort = Effort(10_000)
    tries = 0
    while effort.spend(100):
        tries += 1
    assert tries == 28
    effort.earn(1000)
    assert effort.spend(100)


def test_derivations_count_as_effort(tmp_path: Path) -> None:
    """Where it is spent no more keys are derived, however many secrets there are."""
    path = tmp_path / "many.keys"
    path.write_text("".join(f"CLIENT_TRAFFIC_SECRET_0 {number:064x} {number:064x}\n" for number in range(100)))
    log = KeyLog([str(path)])
    log.effort = Effort(10 * (DERIVATION + 256) + 1)
    assert len(list(protection.guesses(Handshake(), log, True))) == 10
    assert list(protection.guesses(Handshake(), log, True)) == []


def test_a_line_that_is_too_long_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_bytes(b"x" * 20_000)
    file = FollowedFile(str(path))
    assert sum(map(len, file.lines())) == 20_000
    assert sum(map(len, file.lines())) < 4096
    with path.open("ab") as more:
        more.write(b"\nnext\n")
    assert [*file.lines()][1:] == ["next\n"]
