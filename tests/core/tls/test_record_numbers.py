"""The numbers that the core finds likely, against AES-GCM itself."""

import random

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from kcli.core.tls.record_numbers import likely_numbers


@pytest.mark.parametrize("seed", range(20))
def test_likely_numbers_are_those_whose_byte_fits(seed: int) -> None:
    chance = random.Random(seed)
    key, iv = chance.randbytes(chance.choice((16, 32))), chance.randbytes(12)
    text = chance.randbytes(chance.randrange(1, 100))
    first, count, last = chance.choice((0, 255, 1 << 40)), 1000, len(text) - 1
    sent = AESGCM(key).encrypt(nonce(iv, first + chance.randrange(count)), text, b"")
    known = bytes(sent[last] ^ kind for kind in (0, text[last]))
    encrypt = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update
    found = likely_numbers(encrypt, iv, first, count, 2 + last // 16, last % 16, known)
    # What is sent, encrypted once more with the same number, is the text.
    texts = {
        number: AESGCM(key).encrypt(nonce(iv, number), sent[: len(text)], b"")[last]
        for number in range(first, first + count)
    }
    assert found == [number for number, byte in texts.items() if byte in (0, text[last])]
    assert found


def nonce(iv: bytes, number: int) -> bytes:
    return (int.from_bytes(iv, "big") ^ number).to_bytes(12, "big")


@pytest.mark.parametrize(("iv", "at"), [(bytes(11), 0), (bytes(12), 16)])
def test_what_is_no_nonce_or_place_is_refused(iv: bytes, at: int) -> None:
    with pytest.raises(ValueError, match="12 bytes"):
        likely_numbers(bytes, iv, 0, 1, 2, at, b"\0")
