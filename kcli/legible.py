"""Text from bytes that strangers sent, made safe to show: what steers a terminal is escaped, not obeyed.

`legible` is for one value or one line; `legible_lines` for text of several lines that kcli itself has laid out. Both
leave text alone that was made legible before, so that a value and the line around it may both go through.
"""

from __future__ import annotations

import re
from re import Match

# DEL, C1 (ECMA-48), marks of direction (UAX #9), line and paragraph separators, and half surrogate pairs, which file
# names that are not UTF-8 have. The core escapes the same characters in JSON (`kc_steers` in core/codec/json_text.h).
UNSAFE = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"

SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Compiled at the first text that needs it: most runs of kcli never meet one.
# A user and password in a URL, or before HOST:PORT; bounded, for time that is linear.
LOGIN = (
    r"(\b\w+://)[^\s'\"/@]{0,500}:[^\s'\"]{0,1000}@"
    r"|(?<![^\s'\"=])[^\s'\"/@:=]{1,500}:[^\s'\"/@]{1,1000}@(?=(?:[\w.-]+|\[[\w:.%]+\]):\d)"
)
IN_LINE = f"[\x00-\x1f{UNSAFE}]"
IN_LINES = f"[\x00-\x08\x0b-\x1f{UNSAFE}]"


def legible(text: str) -> str:
    r"""Return the text on one line without control characters: they are shown as `\n`, `\x1b`, `\u202e`."""
    return text if text.isprintable() else re.sub(IN_LINE, escape, text)


def legible_lines(text: str) -> str:
    """Return text whose line feeds and tabs are kcli's own without other control characters."""
    return text if text.isprintable() else re.sub(IN_LINES, escape, text)


def escape(found: Match[str]) -> str:
    char = found[0]
    code = ord(char)
    return SHORT.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def without_login(text: str) -> str:
    """Return what stands for an address or URL in a message: a user and password before it are hidden."""
    return f"[hidden]@{text.rpartition('@')[2]}" if "@" in text else text


def without_logins(text: str) -> str:
    """Return text whose URLs and addresses (HOST:PORT) have neither user nor password."""
    return re.sub(LOGIN, lambda found: f"{found[1] or ''}[hidden]@", text) if "@" in text and ":" in text else text


def host_port(host: str, port: object) -> str:
    """Return HOST:PORT, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def start_text(data: bytes) -> str:
    """Format the first bytes of a file that is something else: as text where they are that, else in hex."""
    text = repr(bytes(data))[1:]
    return text if text.count("\\x") < 4 else data.hex(" ")
