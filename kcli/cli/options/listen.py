"""The address on which a command listens, HOST:PORT, and options for TLS with its clients."""

import re
from collections.abc import Callable
from typing import Any

import click

from kcli.client.address import Address
from kcli.errors import UsageError
from kcli.legible import without_login

LONGEST_NAME = 253  # RFC 1035, without the dot at the end
NO_HOST = re.compile(r"[\s\x00-\x1f\x7f/\[\]=,]")


def client_tls_options(**how: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds --tls-key and --tls-client-ca. how: arguments of click.option for both files."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for name, text in (
            ("--tls-client-ca", "CA for client certificates, in PEM; clients then need one."),
            ("--tls-key", "Key of --tls-cert; by default in the same file."),
        ):
            command = click.option(name, help=text, **how)(command)
        return command

    return add


def bare_host(text: str) -> str | None:
    """Return a host without the brackets of an IPv6 address; "" for none; None where the text can't be a host."""
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    return None if NO_HOST.search(bare) or len(bare) > LONGEST_NAME or (":" in bare) != (bare != text) else bare


def listen_address(option: str, text: str) -> Address:
    """Parse HOST:PORT, an IPv6 host in brackets; without a host all addresses of the machine. Raises UsageError."""
    host, colon, port = text.strip().rpartition(":")
    bare = bare_host(host)
    known = port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) < 1 << 16
    if not colon or not known or bare is None:
        raise UsageError(f"{option} {without_login(text)}: HOST:PORT expected (an IPv6 host in brackets: [::1]:9192)")
    return Address(bare, int(port))
