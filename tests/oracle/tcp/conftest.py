"""The fixtures of captures: what both engines read."""

from tests.capture.conftest import engine, read

__all__ = ["engine", "read"]
