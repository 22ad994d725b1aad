"""Decodes base64 text in the forms that users paste."""

import base64
import binascii
import re

from kcli.counting import counted
from kcli.errors import InputError

NOT_BASE64 = rb"[^A-Za-z0-9+/=]|=(?=[^=])"


def unbase64(data: bytes) -> bytes:
    """Decode base64 text of the standard or the URL-safe alphabet, with or without white space and padding. Raises
    InputError.
    """
    text = b"".join(data.split()).translate(bytes.maketrans(b"-_", b"+/"))
    missing = b"" if b"=" in text or len(text) % 4 == 1 else b"=" * (-len(text) % 4)
    try:
        return base64.b64decode(text + missing, validate=True)
    except binascii.Error:
        if found := re.search(NOT_BASE64, text):
            why = f"character {found.start() + 1} is {chr(found[0][0])!r} (letters, digits, + and / expected, then =)"
        else:
            why = f"{counted(len(text), 'character')} (groups of four expected, the last filled up with = or ==)"
        raise InputError(f"not base64: {why}") from None
