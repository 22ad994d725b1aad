"""The core's offsets are those of the grammars."""

import pytest

from tools import layouts


@pytest.mark.parametrize("name", layouts.files())
def test_the_generated_files_are_current(name: str) -> None:
    assert (layouts.CORE / name).read_text() == layouts.files()[name], "run `make layouts`"


def test_a_batch_in_figures() -> None:
    text = layouts.files()["layouts.h"]
    for line in (
        "KB_HEADER_2 = 61,",
        "KB_OVERHEAD = 12,",
        "KB_AT_CRC = 17,",
        "KB_AT_1_KEY = 26,",
        "KB_AT_CLIENT_ID = 8,",
    ):
        assert f"    {line}\n" in text
