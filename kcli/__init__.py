"""kcli: a command-line toolkit for the bytes of Apache Kafka."""

__all__ = ["__version__"]

__version__ = "0.1.0"
