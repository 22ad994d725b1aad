"""Each example is a query that answers, over real bytes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.sql.examples import EXAMPLES


@pytest.mark.parametrize(("question", "query"), EXAMPLES, ids=[question for question, _ in EXAMPLES])
def test_it_answers(question: str, query: str, samples: Path, ask: Callable[..., Any]) -> None:
    assert question.endswith(("?", ")"))
    assert ask(query, samples)
