"""Serves metrics by HTTP: /metrics, /healthz and /ready, in separate threads."""

import os
import socket
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from kcli.errors import NetworkError
from kcli.legible import host_port
from kcli.metrics.definitions import METRICS, Metric
from kcli.metrics.exporter import AnyFigures, exposition

PLAIN = "text/plain; charset=utf-8"
MOST_CLIENTS = 32  # clients answered at the same time; further connections are closed
SILENT_S = 10.0  # seconds that a client may be silent


class MetricsServer(ThreadingHTTPServer):
    """Serves `figures` while it is open (`with`). listening: a listening socket, which the server closes."""

    daemon_threads = True

    def __init__(self, figures: AnyFigures, listening: socket.socket, metrics: Sequence[Metric] = METRICS) -> None:
        self.figures, self.metrics = figures, metrics
        self.places = threading.BoundedSemaphore(MOST_CLIENTS)
        super().__init__(listening.getsockname()[:2], MetricsHandler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.thread.join()
        self.server_close()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return whether there is a place for one more client, see socketserver."""
        return self.places.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that went away, see socketserver."""


class MetricsHandler(BaseHTTPRequestHandler):
    """Answers one client."""

    server: MetricsServer
    timeout = SILENT_S
    protocol_version = "HTTP/1.0"
    server_version, sys_version = "kcli", ""

    def do_GET(self) -> None:
        """Answer a request by its path."""
        answers: dict[str, Callable[[], tuple[int, bytes, str]]] = {
            "/metrics": self.metrics,
            "/healthz": lambda: (200, b"ok\n", PLAIN),
            "/ready": self.ready,
        }
        path = self.path.partition("?")[0]
        unknown = 404, b"/metrics, /healthz or /ready\n", PLAIN
        code, body, kind = answers[path]() if path in answers else unknown
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815

    def metrics(self) -> tuple[int, bytes, str]:
        """Return all metrics."""
        return 200, *exposition(self.server.figures, self.headers.get("Accept", ""), self.server.metrics)

    def ready(self) -> tuple[int, bytes, str]:
        """Return whether traffic is being read."""
        if self.server.figures.settled is None:
            return 503, b"no traffic is read yet\n", PLAIN
        return 200, b"ok\n", PLAIN

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Ignore the log line about a request."""


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens there. host: "" for all addresses. Raises NetworkError if it can't."""
    try:
        family = socket.AF_INET6 if ":" in host or (not host and socket.has_dualstack_ipv6()) else socket.AF_INET
        return socket.create_server((host, port), family=family, dualstack_ipv6=not host and family == socket.AF_INET6)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise NetworkError(f"cannot serve metrics on {host_port(host or '*', port)}: {reason}") from None
