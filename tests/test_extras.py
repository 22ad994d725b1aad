"""What is missing is named, with how to get it."""

from __future__ import annotations

import sys

import pytest

from kcli.errors import UsageError
from kcli.extras import require


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    require("this", "any", "json", "csv")
    monkeypatch.setitem(sys.modules, "csv", None)
    with pytest.raises(UsageError, match=r"^this needs csv \(pip install 'kcli-kafka\[any\]'\)$"):
        require("this", "any", "json", "csv")
