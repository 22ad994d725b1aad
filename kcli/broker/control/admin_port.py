"""The admin port, by which programs in any language control an embedded broker: JSON over HTTP.

    POST /COMMAND {"argument": value}        200 and {"result": ...}; else {"error": ...}: 400 for a wrong request,
                                             500 if the broker failed, 504 if a wait timed out

It listens on a loopback address. To refuse requests of web pages, it requires an IP address or localhost as the Host,
and the Content-Type application/json: 403 for others.
"""

import json
import sys
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from kcli.client.address import is_ip_address
from kcli.errors import KcliError, NetworkError
from kcli.jsontext import dumps

HOST = "127.0.0.1"
LONGEST = 64 << 20
IDLE_SECONDS = 60


class AdminPort:
    """Serves commands within its `with` block. run: returns the result of a command (name, arguments), or raises
    UsageError or TimeoutError. names: of all commands. port: 0 for a free one; address: "HOST:PORT".

    Raises NetworkError if it can't listen.
    """

    def __init__(self, run: Callable[[str, dict[str, Any]], Any], names: Sequence[str], port: int = 0) -> None:
        class Handler(AdminHandler):
            commands = names
            result = staticmethod(run)

        try:
            self._server = AdminServer((HOST, port), Handler)
        except OSError as error:
            raise NetworkError(f"cannot listen on {HOST}:{port}: {error.strerror or error}") from None
        self.address = f"{HOST}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="kcli-admin", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class AdminServer(ThreadingHTTPServer):
    """Answers each client in a thread of its own."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that went away, and show a bug, see socketserver."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class AdminHandler(BaseHTTPRequestHandler):
    """Handles the HTTP requests of one connection."""

    commands: Sequence[str]
    result: Callable[[str, dict[str, Any]], Any]
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS

    def do_GET(self) -> None:
        """Send the names of the commands, for any path."""
        self.reply(HTTPStatus.OK, {"commands": self.commands})

    def do_POST(self) -> None:
        """Run the command that the path names, with the arguments in the body."""
        length = self.headers.get("Content-Length", "0")
        size = int(length) if length.isascii() and length.isdigit() else LONGEST + 1
        if size > LONGEST:
            self.close_connection = True
            self.reply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": f"a body of {LONGEST} bytes at most expected"})
            return
        body = self.rfile.read(size)
        if fault := self.stranger():
            self.reply(HTTPStatus.FORBIDDEN, {"error": fault})
            return
        try:
            arguments = json.loads(body or b"{}")
            if not isinstance(arguments, dict):
                raise ValueError("an object expected")
        except (ValueError, RecursionError) as error:
            self.reply(HTTPStatus.BAD_REQUEST, {"error": f"no JSON object: {error}"})
            return
        self.run(arguments)

    def run(self, arguments: dict[str, Any]) -> None:
        """Run a command and send its result or its error."""
        try:
            found = self.result(self.path.strip("/"), arguments)
        except TimeoutError as error:
            self.reply(HTTPStatus.GATEWAY_TIMEOUT, {"error": str(error)})
        except (OSError, NetworkError) as error:
            self.reply(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": f"the broker failed: {error}"})
        except KcliError as error:
            self.reply(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        except Exception as error:
            self.close_connection = True
            text = f"the broker failed (a bug): {type(error).__name__}: {error}"
            self.reply(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": text})
            raise
        else:
            self.reply(HTTPStatus.OK, {"result": found})

    def stranger(self) -> str:
        """Return why a request may come from a web page and is refused, "" if it is accepted."""
        host = self.headers.get("Host", "").rpartition(":")[0].strip("[]") or self.headers.get("Host", "")
        if host != "localhost" and not is_ip_address(host):
            return "the Host of a request is an address or localhost"
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        return "" if kind == "application/json" else "Content-Type: application/json expected"

    def reply(self, status: HTTPStatus, value: dict[str, Any]) -> None:
        """Send a status with a JSON body."""
        data = dumps(value).encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Log nothing, against the default of logging each request to stderr."""
