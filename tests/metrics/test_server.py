"""Metrics by HTTP."""

import http.client
import socket
from collections.abc import Iterator

import pytest

from kcli.errors import NetworkError
from kcli.metrics.figures import LiveFigures
from kcli.metrics.server import MetricsServer, listening_socket


@pytest.fixture
def served() -> Iterator[MetricsServer]:
    with MetricsServer(LiveFigures(), listening_socket("127.0.0.1", 0)) as server:
        yield server


def ask(server: MetricsServer, path: str, method: str = "GET") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(*server.socket.getsockname()[:2])
    connection.request(method, path)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def test_it_is_healthy_at_once_and_ready_when_traffic_is_read(served: MetricsServer) -> None:
    assert ask(served, "/healthz") == (200, b"ok\n")
    assert ask(served, "/ready")[0] == 503
    assert isinstance(served.figures, LiveFigures)
    served.figures.settle()
    assert ask(served, "/ready") == (200, b"ok\n")


def test_metrics_are_there_before_any_traffic(served: MetricsServer) -> None:
    code, text = ask(served, "/metrics?x=1")
    assert code == 200 and b"kcli_build_info{" in text
    assert ask(served, "/metrics", "HEAD") == (200, b"")


def test_nothing_else_is_served(served: MetricsServer) -> None:
    assert ask(served, "/etc/passwd") == (404, b"/metrics, /healthz or /ready\n")
    assert ask(served, "/metrics", "POST")[0] == 501


def test_clients_that_say_nothing_or_nonsense_do_no_harm(served: MetricsServer) -> None:
    address = served.socket.getsockname()[:2]
    silent = [socket.create_connection(address) for _ in range(3)]
    with socket.create_connection(address) as client:
        client.sendall(b"\x16\x03\x01\0\xff\r\n\r\n")
        assert client.recv(100)
    assert ask(served, "/healthz")[0] == 200
    for each in silent:
        each.close()


def test_a_port_that_is_taken_is_one_line(served: MetricsServer) -> None:
    port = served.socket.getsockname()[1]
    with pytest.raises(NetworkError, match=f"cannot serve metrics on 127.0.0.1:{port}: Address already in use"):
        listening_socket("127.0.0.1", port)
