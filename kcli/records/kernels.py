"""The kernels over record batches: the compiled core's, or where it is not built, interpreted ones of the same form.

Each is imported when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["batches", "crc32", "crc32c", "downconvert", "record_values"]

if TYPE_CHECKING:
    from kcli.core.records import batches, downconvert, record_values
    from kcli.core.records.crc import crc32, crc32c


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kcli.core import COMPILED

    package = "kcli.core.records" if COMPILED else "kcli.records.reference"
    if name in ("crc32", "crc32c"):
        value = getattr(importlib.import_module(f"{package}.crc"), name)
    else:
        value = importlib.import_module(f"{package}.{name}")
    globals()[name] = value
    return value
