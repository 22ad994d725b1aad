import io
import zipfile

import pytest

from kcli.errors import InputError
from kcli.schemas.importing.classfile import ERRORS_CLASS, RETRIABLE, ErrorCode, read_errors
from tests.schemas.assembler import enum_class, plain_class

EXCEPTION = "org/apache/kafka/common/errors/ApiException"
CONSTANTS = [("UNKNOWN", -1, EXCEPTION), ("NONE", 0, EXCEPTION), ("LATER", 6, "x/Middle"), ("MANY", 300, RETRIABLE)]


def jar(**classes: bytes) -> zipfile.ZipFile:
    made = zipfile.ZipFile(io.BytesIO(), "w")
    for name, data in classes.items():
        made.writestr(f"{name}.class", data)
    return made


def test_the_codes_of_an_enum() -> None:
    middle = plain_class("x/Middle", "x/Upper")
    upper = plain_class("x/Upper", RETRIABLE)
    errors = enum_class(CONSTANTS)
    assert read_errors(jar(**{ERRORS_CLASS: errors, "x/Middle": middle, "x/Upper": upper})) == [
        ErrorCode(-1, "UNKNOWN", False),
        ErrorCode(0, "NONE", False),
        ErrorCode(6, "LATER", True),
        ErrorCode(300, "MANY", True),
    ]


def test_a_jar_without_the_class() -> None:
    assert read_errors(jar(other=b"")) == []


def test_a_class_cut_anywhere_is_refused() -> None:
    whole = enum_class(CONSTANTS)
    for size in range(len(whole)):
        with pytest.raises(InputError, match="not a class file"):
            read_errors(jar(**{ERRORS_CLASS: whole[:size]}))


def test_a_class_with_a_wrong_byte_ends_in_no_other_error() -> None:
    whole = enum_class(CONSTANTS[:2])
    for at in range(len(whole)):
        damaged = whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
        try:
            read_errors(jar(**{ERRORS_CLASS: damaged}))
        except InputError:
            continue
