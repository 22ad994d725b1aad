"""Captures of before and after a change, compared: what is new, gone, worse and better beyond noise."""

from kcli.compare.comparison import BETTER, CHANGED, SAME, UNLIKE, WORSE, Change, Comparison, Difference, compare

__all__ = ["BETTER", "CHANGED", "SAME", "UNLIKE", "WORSE", "Change", "Comparison", "Difference", "compare"]
