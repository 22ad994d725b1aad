from pathlib import Path

import pytest

from kcli.errors import InputError
from kcli.java_properties import number_of, parse, properties_text, read_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", [("a", "b", 1)]),
        ("a = b c ", [("a", "b c ", 1)]),
        ("a:b\n! comment\n# another\n\n  c   d", [("a", "b", 1), ("c", "d", 5)]),
        ("a=one \\\n   two\nb=3", [("a", "one two", 1), ("b", "3", 3)]),
        ("a=C:\\\\path\\\\", [("a", "C:\\path\\", 1)]),
        ("k\\:e\\=y\\ x=v", [("k:e=y x", "v", 1)]),
        ("a=\\u00e9\\tz", [("a", "é\tz", 1)]),
        ("a=\\ud83d\\ude00", [("a", "😀", 1)]),
        ("a", [("a", "", 1)]),
        ("a=b\r\nc=d\re=f", [("a", "b", 1), ("c", "d", 2), ("e", "f", 3)]),
        ("a=b\\", [("a", "b", 1)]),
        ("a==b", [("a", "=b", 1)]),
    ],
)
def test_reads_what_java_reads(text: str, expected: list[tuple[str, str, int]]) -> None:
    assert list(parse(text)) == expected


def test_a_broken_unicode_escape_names_its_line() -> None:
    with pytest.raises(InputError, match=r"line 2: .*four hexadecimal digits"):
        list(parse("a=b\nc=\\u12x4"))


def test_a_file(tmp_path: Path) -> None:
    assert read_properties(tmp_path / "none") == {}
    (tmp_path / "meta.properties").write_text("version=1\nnode.id = 7 \n")
    assert read_properties(tmp_path / "meta.properties") == {"version": "1", "node.id": "7 "}


def test_properties_are_written_as_they_are_read(tmp_path: Path) -> None:
    known = {"a b:c": " #=x\\ ", "": "", "é😀": "\t\n\r\f\0!", "version": "1"}
    (tmp_path / "some").write_text(properties_text(known), "ascii")
    assert read_properties(tmp_path / "some") == known
    assert properties_text({"cluster.id": "abc-_1"}) == "#\ncluster.id=abc-_1\n"


@pytest.mark.parametrize("text", ["1_000", " 1", "1 ", "", "+", "1.0", "0x1", "٣-"])
def test_a_number_is_digits_with_a_sign(text: str) -> None:
    with pytest.raises(ValueError, match="a whole number expected"):
        number_of(text)
    assert (number_of("+007"), number_of("-1"), number_of("٣")) == (7, -1, 3)  # as Integer.parseInt
