"""Which bytes may begin a TLS record."""

from kcli.grammar.files.tls import is_record_header


def test_headers_of_records() -> None:
    for header in (b"\x16\x03\x01\x02\x00\x01", b"\x17\x03\x03\x40\x00", b"\x17\x03\x03\x48\x00"):
        assert is_record_header(header)
    for other in (b"\x16\x03", b"\x16\x02\x01\x02\x00", b"\x17\x03\x03\x48\x01", b"\x17\x03\x03\xff\xff"):
        assert not is_record_header(other)


def test_a_header_behind_other_bytes() -> None:
    assert is_record_header(b"\0\0\x16\x03\x01\x02\x00", 2)
    assert not is_record_header(b"\0\0\0\x2e\x00\x03\x00\x0c")  # a Metadata request
