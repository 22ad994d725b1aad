"""Connects to a broker: it resolves the name, tries each address, and does the TLS handshake. Errors are one line."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import TypeVar

from kcli.client.address import Address
from kcli.client.properties import ClientConfig
from kcli.client.tls import describe_tls_error, tls_context
from kcli.errors import CertificateError, NetworkError

P = TypeVar("P", bound=asyncio.BaseProtocol)


async def dial(address: Address, config: ClientConfig, make: Callable[[], P]) -> P:
    """Return a connected protocol, with TLS by `security.protocol`. Raises NetworkError, and UsageError for invalid
    configs. make: returns a new protocol.

    It takes at most socket.connection.setup.timeout.ms for each address of the name.
    """
    context = tls_context(config)
    loop = asyncio.get_running_loop()
    seconds = config.seconds("socket.connection.setup.timeout.ms")
    failure: Exception | None = None
    for place in await resolve(address):
        try:
            async with asyncio.timeout(seconds):
                return await dial_one(loop, place, address.host if context else None, context, config, make)
        except TimeoutError:
            failure = NetworkError(
                f"broker {address}: no connection within {seconds:g} s (socket.connection.setup.timeout.ms)"
            )
        except OSError as error:
            failure = error
    assert failure is not None
    raise describe_failure(
        address, failure, "in the TLS handshake (is it a TLS listener?)" if context else "at once"
    ) from None


async def resolve(address: Address) -> list[tuple[int, tuple[str, int]]]:
    """Return (family, (ip, port)) of each address of a name. Raises NetworkError."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        reason = error.strerror if isinstance(error, socket.gaierror) else "not a host name"
        raise NetworkError(f"broker {address}: the name does not resolve: {reason}") from None
    return [(family, (str(place[0]), address.port)) for family, _, _, _, place in found]


async def dial_one(
    loop: asyncio.AbstractEventLoop,
    place: tuple[int, tuple[str, int]],
    server_name: str | None,
    context: ssl.SSLContext | None,
    config: ClientConfig,
    make: Callable[[], P],
) -> P:
    """Connect to one address, with buffer sizes set before that. place: (family, address). Raises OSError."""
    family, target = place
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        set_buffers(connection, config)
        await loop.sock_connect(connection, target)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _, protocol = await loop.create_connection(make, sock=connection, ssl=context, server_hostname=server_name)
    except BaseException:
        connection.close()
        raise
    return protocol


def set_buffers(connection: socket.socket, config: ClientConfig) -> None:
    """Set the buffer sizes that are configured. Kafka's defaults are not set, as Linux chooses better sizes."""
    for name, option in (("send.buffer.bytes", socket.SO_SNDBUF), ("receive.buffer.bytes", socket.SO_RCVBUF)):
        if name in config.set_names and config[name] >= 0:
            connection.setsockopt(socket.SOL_SOCKET, option, config[name])


def describe_failure(address: Address, error: Exception, when: str = "") -> NetworkError:
    """Return the NetworkError for an OSError. when: the moment of a closed connection, for the text."""
    if isinstance(error, NetworkError):
        return error
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        kind = CertificateError if isinstance(error, ssl.SSLCertVerificationError) else NetworkError
        return kind(f"broker {address}: {describe_tls_error(error)}")
    if isinstance(error, ConnectionRefusedError):
        return NetworkError(
            f"broker {address} refused the connection (is it running? `kcli broker serve` starts an embedded one)"
        )
    if isinstance(error, (ConnectionError, ssl.SSLEOFError)):
        return NetworkError(f"broker {address} closed the connection {when}".rstrip())
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return NetworkError(f"broker {address}: {reason}")
