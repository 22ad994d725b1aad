"""`kcli pipeline run --fail-if`: a condition on the totals of a run, which ends with exit code 1 where it is true."""

from typing import Any, Self

from kcli.errors import KcliError
from kcli.pipeline.totals import TOTALS
from kcli.sql.conditions import SqlCondition, Subject

# Whatever is divided by nothing has no value, and a condition without a value is not met.
DIVISION = {"ieee_floating_point_ops": "false", "error_on_division_by_zero": "false"}
RUN = Subject("--fail-if", "totals", TOTALS, "lost_bytes > 0.001 * bytes", DIVISION)


class ConditionMetError(KcliError):
    """Raised if a run meets the condition. Its tables are complete nevertheless."""

    exit_code = 1


class FailIf:
    """A condition on runs, which holds DuckDB until its block is left."""

    def __init__(self, text: str) -> None:
        """Prepare a condition. Raises UsageError if it is none."""
        self.condition = SqlCondition(text, subject=RUN)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.condition.close()

    def message_if_met(self, totals: dict[str, Any]) -> str | None:
        """Return a line that says so if a run's totals meet the condition. A run without input never meets it. Raises
        UsageError if the condition fails for these totals.
        """
        import pyarrow

        row = dict.fromkeys(RUN.schema.names, 0) | totals
        if not self.condition.holds(pyarrow.RecordBatch.from_pylist([row], schema=RUN.schema))[0]:
            return None
        totals_text = ", ".join(f"{name} {row[name]:,}" for name in row if name in self.condition.wanted)
        return f"--fail-if {self.condition.shown}" + (f": {totals_text}" if totals_text else "")

    def check(self, totals: dict[str, Any]) -> None:
        """Raise ConditionMetError if a run's totals meet the condition."""
        if (message := self.message_if_met(totals)) is not None:
            raise ConditionMetError(message)
