"""Cipher suites by their names."""

import ssl

import pytest

from kcli.capture.tls.suites import NAMES, Suite, suite_of


@pytest.mark.parametrize(
    ("number", "suite"),
    [
        (0x1303, Suite("TLS_CHACHA20_POLY1305_SHA256", "CHACHA20", 32, None, 0, "sha256")),
        (0x1302, Suite("TLS_AES_256_GCM_SHA384", "GCM", 32, None, 0, "sha384")),
        (0xC028, Suite("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", "CBC", 32, "sha384", 48, "sha384")),
        (0x002F, Suite("TLS_RSA_WITH_AES_128_CBC_SHA", "CBC", 16, "sha1", 20, "sha256")),
        (0xC0A1, Suite("TLS_RSA_WITH_AES_256_CCM_8", "CCM_8", 32, None, 0, "sha256")),
    ],
)
def test_a_name_says_what_protects(number: int, suite: Suite) -> None:
    assert suite_of(number) == suite


def test_what_is_no_suite() -> None:
    assert suite_of(0x0005) is None


def test_keys_are_as_long_as_openssl_has_them() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:@SECLEVEL=0")
    known = {each["id"] & 0xFFFF: each for each in context.get_ciphers()}
    both = NAMES.keys() & known.keys()
    assert len(both) > 20
    for number in both:
        found = suite_of(number)
        assert found is not None
        assert found.key_size * 8 == known[number]["strength_bits"], found.name
        assert (found.cipher != "CBC") == known[number]["aead"], found.name
