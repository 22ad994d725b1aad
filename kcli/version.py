"""The version of kcli, for whoever may not import the front door."""

__version__ = "0.1.0"
