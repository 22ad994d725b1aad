"""Calls noted on their way to what they call."""

from typing import Any

import pytest

__all__ = ["noted"]


def noted(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> list[tuple[Any, ...]]:
    """The arguments of every call of a class's method or a module's function from now on."""
    calls: list[tuple[Any, ...]] = []
    real = getattr(owner, name)

    def noting(*args: Any) -> Any:
        calls.append(args)
        return real(*args)

    monkeypatch.setattr(owner, name, noting)
    return calls
