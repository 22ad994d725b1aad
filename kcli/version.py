"""The version of kcli: the only place that states it."""

__version__ = "0.2.0"
