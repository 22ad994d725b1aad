"""What may steer a terminal is escaped; everything else is left alone."""

import unicodedata

import pytest

from kcli.cli.main import main
from kcli.legible import host_port, legible, legible_lines, without_login, without_logins

HARMLESS = ["", "orders", "[red]x[/red] :smile:", "é 日本語 𝄞 e\u0301 א ع", "a\\x1b", "soft\u00adhyphen"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"),
        ("a\nb\rc\td", "a\\nb\\rc\\td"),
        ("\x00\x08\x7f\x80\x9b", "\\x00\\x08\\x7f\\x80\\x9b"),
        ("\u061c\u200e\u202egpj.exe\u2066\u2028", "\\u061c\\u200e\\u202egpj.exe\\u2066\\u2028"),
        ("file-\udcff", "file-\\udcff"),
    ],
)
def test_what_steers_a_terminal_is_escaped(text: str, shown: str) -> None:
    assert legible(text) == shown
    assert legible(shown) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_all_else_stays(text: str) -> None:
    assert legible(text) == legible_lines(text) == text


def test_lines_and_tabs_stay_in_text_of_lines() -> None:
    assert legible_lines("a\tb\n\x1bc\r\n") == "a\tb\n\\x1bc\\r\n"


def test_every_control_character_and_every_mark_of_direction_is_among_them() -> None:
    directed = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}  # UAX #9, explicit formatting
    for code in range(0x110000):
        char = chr(code)
        steers = unicodedata.category(char) in ("Cc", "Zl", "Zp", "Cs") or unicodedata.bidirectional(char) in directed
        steers |= char in "\u061c\u200e\u200f"
        assert (legible(char) != char) == steers, hex(code)


def test_logins_in_urls_and_addresses_are_hidden() -> None:
    for text, shown in (
        ("s3://AK:S3/CR@ET@bucket/a: no such file", "s3://[hidden]@bucket/a: no such file"),
        ("a http://me:S3CRET@h:1/x and me:S3CRET@h:9092", "a http://[hidden]@h:1/x and [hidden]@h:9092"),
        ("'me:S3CRET@[::1]:9092' is not HOST:PORT", "'[hidden]@[::1]:9092' is not HOST:PORT"),
    ):
        assert without_logins(text) == shown
    for text in ("hdfs://anna@host/a", "at 10:14:02 a@b.c", "10:14@host.pcap: empty", "https://h:1/x", "a/b:c@d/e.log"):
        assert without_logins(text) == text
    assert (without_login("me:S3CRET@h"), without_login("h:1")) == ("[hidden]@h", "h:1")


def test_no_message_repeats_a_login(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["http://me:S3CRET@h/x"],
        ["sql", "SELECT 1", "https://me:S3CRET@h/x.pcap"],
        ["snapshot", "doctor", "me:S3CRET@127.0.0.1:1"],
        ["proxy", "--bootstrap", "h:1", "--listen", "me:S3CRET@h:1"],
        ["proxy", "--bootstrap", "h:1", "--advertise", "me:S3CRET@h"],
        ["broker", "serve", "--listener", "me:S3CRET@h"],
    ):
        assert main(words) in (2, 3)
        assert "S3CRET" not in (said := capsys.readouterr().err) and "[hidden]@" in said


def test_a_host_before_a_port() -> None:
    assert host_port("kafka", 9092) == "kafka:9092"
    assert host_port("::1", 9092) == "[::1]:9092"
