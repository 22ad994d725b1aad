"""Keys out of secrets, against the vectors of RFC 8448 (a handshake of TLS 1.3)."""

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from kcli.capture.tls.schedule import expand_label, keys_of_traffic, next_traffic_secret
from kcli.capture.tls.suites import suite_of

# RFC 8448, 3: the server's application traffic secret and what derives from it.
SECRET = bytes.fromhex("a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643")
KEY = bytes.fromhex("9f02283b6c9c07efc26bb9f2ac92e356")
IV = bytes.fromhex("cf782b88dd83549aadf1e984")


def test_the_keys_of_a_traffic_secret() -> None:
    suite = suite_of(0x1301)
    assert suite is not None
    assert keys_of_traffic(suite, SECRET) == (b"", KEY, IV)


def test_labels_expand_as_hkdf_does() -> None:
    info = b"\0\x50\x11tls13 traffic upd\0"
    assert expand_label("sha256", SECRET, b"traffic upd", 80) == HKDFExpand(SHA256(), 80, info).derive(SECRET)


def test_an_updated_secret_is_as_long() -> None:
    suite = suite_of(0x1302)
    assert suite is not None
    assert len(next_traffic_secret(suite, bytes(48))) == 48
