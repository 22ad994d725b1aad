"""The version of kcli, for whoever may not import the front door."""

__all__ = ["__version__"]

__version__ = "0.1.0"
