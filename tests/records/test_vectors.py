"""The vectors are there and are what they say."""

from tests.records import vectors


def test_every_kind_of_case_is_there() -> None:
    assert len(vectors.good()) > 30 and len(vectors.bad()) > 90 and len(vectors.fetches()) > 50
    assert {case.data[16] for case in vectors.good()} == {0, 1, 2}
    assert any(case.converted[1] == "UnsupportedCompressionTypeException" for case in vectors.good())
