"""A URL from the command line or a property, and the credentials in it, which are never shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from kcli.errors import UsageError


class WebAddress(NamedTuple):
    """A URL in parts. url: without user and password; user: "NAME:PASSWORD", or ""; shown: the URL for messages, also
    without the query, which may have keys; path: the URL's path.
    """

    url: str
    user: str
    shown: str
    path: str

    @classmethod
    def parse(cls, text: str, option: str, path: str = "") -> WebAddress:
        """Parse a URL. option: the option or property that gives it. path: for a URL without one. Raises UsageError."""
        parts = split_url(text)
        if parts is None or parts.scheme not in ("http", "https") or not has_place(parts):
            hint = " (in a password %2F for /, %40 for @)" if "@" in text else ""
            raise UsageError(f"{option}: an http:// or https:// URL expected{hint}")
        user, _, place = parts.netloc.rpartition("@")
        path = path if parts.path in ("", "/") else parts.path
        shown = urlunsplit((parts.scheme, place, path, "", ""))
        return cls(urlunsplit((parts.scheme, place, path, parts.query, "")), unquote(user), shown, path)


def split_url(text: str) -> SplitResult | None:
    """Return the parts of a URL; None if the text is no URL. Python's own error would show a password."""
    try:
        return urlsplit(text.strip())
    except ValueError:
        return None


def path_of(text: str) -> Path | None:
    """Return the path of a file: URL; None for any other text. Don't show that: it may have a password in it."""
    parts = split_url(text)
    return Path(unquote(parts.path)) if parts is not None and parts.scheme == "file" else None


def has_place(parts: SplitResult) -> bool:
    """Return whether there is a host, and no invalid port: the port of http://me:a/b@host would be "a"."""
    try:
        return bool(parts.hostname) and not re.search(r"\s", parts.netloc) and parts.port != 0
    except ValueError:
        return False


def reason_of(error: BaseException) -> str:
    """Return the innermost reason of an error of urllib3, without addresses of objects."""
    inner = getattr(error, "reason", None) or error
    text = " ".join(str(inner).split())
    return re.sub(r"^<[^>]*>: |^[\w.]*\([^)]*\): |\[Errno -?\d+\] ", "", text)[:200]
