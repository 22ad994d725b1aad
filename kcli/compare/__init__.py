"""Captures of before and after a change, compared: what is new, gone, worse and better beyond noise."""

from typing import TYPE_CHECKING

from kcli.lazy import importing

if TYPE_CHECKING:
    from kcli.compare.comparison import BETTER, CHANGED, SAME, UNLIKE, WORSE, Change, Comparison, Difference, compare

__all__ = ["BETTER", "CHANGED", "SAME", "UNLIKE", "WORSE", "Change", "Comparison", "Difference", "compare"]

__getattr__ = importing(
    __name__, {"comparison": "BETTER CHANGED SAME UNLIKE WORSE Change Comparison Difference compare"}, "sql"
)
