"""What handshake messages say, cut anywhere and damaged."""

import ssl
import struct

from kcli.capture.tls.handshake import CLIENT_HELLO, SERVER_HELLO, Handshake, Messages, alert_text
from kcli.grammar.files.tls import is_record_header, next_record_header, record_size

HELLO = (
    b"\x03\x03" + bytes(range(32)) + b"\0" + b"\0\2\x13\x02" + b"\1\0"
    + struct.pack(">H", 20) + struct.pack(">HHHBH", 0, 16, 14, 0, 11) + b"broker.test"
)  # fmt: skip


def test_messages_are_put_together() -> None:
    message = b"\x01" + len(HELLO).to_bytes(3, "big") + HELLO
    for cut in range(len(message)):
        messages = Messages()
        assert messages.add(message[:cut]) == []
        assert messages.add(message[cut:] + message[:2]) == [(CLIENT_HELLO, HELLO)]


def test_a_message_has_a_bound() -> None:
    messages = Messages()
    assert messages.add(b"\x0b\xff\xff\xff" + bytes(100)) == []
    assert messages.add(bytes(1 << 20)) == []
    assert len(messages.buffer) == 0


def test_a_client_hello() -> None:
    found = Handshake()
    found.see(CLIENT_HELLO, HELLO, True)
    assert found.client_random == bytes(range(32))
    assert found.server_name == "broker.test"
    assert found.text == "TLS, server name broker.test"


def test_a_damaged_message_says_nothing() -> None:
    for cut in range(len(HELLO)):
        found = Handshake()
        found.see(CLIENT_HELLO, HELLO[:cut], True)
        found.see(SERVER_HELLO, HELLO[:cut], False)
        assert found.text.startswith("TLS")


def test_alerts_have_names() -> None:
    assert alert_text(48) == "alert unknown_ca (48)"
    assert alert_text(200) == "alert unknown (200)"


def test_where_a_record_may_begin() -> None:
    record = b"\x17\x03\x03\x00\x01!"
    assert is_record_header(record) and record_size(record) == 6
    assert not is_record_header(record[:4])
    assert not is_record_header(b"\x18" + record[1:])
    assert next_record_header(b"\x17\x03" + b"\x16\x03\x01" + record, 0, data_only=False) == 2
    assert next_record_header(b"\x17\x03" + b"\x16\x03\x01" + record, 0, data_only=True) == 5
    assert next_record_header(record, 1, data_only=False) == -1


def test_what_no_key_log_opens() -> None:
    assert Handshake().unread == ""
    assert Handshake(version=0x0302, suite=0xC013).unread == "kcli decrypts TLS 1.2 and 1.3, not TLS 1.1"
    assert Handshake(version=0x0300).unread == "kcli decrypts TLS 1.2 and 1.3, not SSL 3.0"
    assert Handshake(version=0x0303, suite=0x0041).unread == "kcli does not decrypt this cipher suite"
    assert [Handshake(version=version, suite=0x1301).unread for version in (0x0303, 0x0304)] == ["", ""]


def test_alerts_have_the_names_that_python_knows() -> None:
    unnamed = set()
    for known in ssl.AlertDescription:
        name = known.name.removeprefix("ALERT_DESCRIPTION_").lower().replace("cancelled", "canceled")
        if alert_text(known) != f"alert {name} ({known:d})":
            assert alert_text(known) == f"alert unknown ({known:d})"
            unnamed.add(name)
    assert unnamed == {"certificate_unobtainable", "bad_certificate_hash_value"}  # of RFC 6066 alone
