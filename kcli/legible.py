"""Makes text from untrusted bytes safe to show: characters that control a terminal are escaped.

`legible` is for one value or one line; `legible_lines` for text of several lines that kcli itself has laid out. Both
leave text unchanged that is legible already, so a value and the line around it may both be passed.
"""

import re
from re import Match

# DEL, C1 (ECMA-48), marks of direction (UAX #9), line and paragraph separators, and lone surrogates, which stand for
# bytes of file names that are not UTF-8. The core escapes the same characters in JSON (`kc_steers` in
# core/codec/json_text.h).
UNSAFE = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"

SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Compiled for the first text that needs them, as most runs need none. LOGIN: a user and password in a URL, or before
# HOST:PORT; its repetitions are bounded, so that a match takes linear time.
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
    """Escape control characters except line feeds and tabs, which kcli's own layout has."""
    return text if text.isprintable() else re.sub(IN_LINES, escape, text)


def escape(found: Match[str]) -> str:
    char = found[0]
    code = ord(char)
    return SHORT.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def without_login(text: str) -> str:
    """Return an address or URL for a message, with user and password hidden."""
    return f"[hidden]@{text.rpartition('@')[2]}" if "@" in text else text


def without_logins(text: str) -> str:
    """Return text with users and passwords hidden in URLs and before HOST:PORT."""
    return re.sub(LOGIN, lambda found: f"{found[1] or ''}[hidden]@", text) if "@" in text and ":" in text else text


def host_port(host: str, port: object) -> str:
    """Format HOST:PORT, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def start_text(data: bytes) -> str:
    """Format the first bytes of a file of the wrong kind, as text if most are printable, else in hex."""
    text = repr(bytes(data))[1:]
    return text if text.count("\\x") < 4 else data.hex(" ")
