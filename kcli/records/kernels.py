"""The kernels over record batches: the compiled core's, or where it is not built, interpreted ones of the same form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.core import COMPILED

__all__ = ["crc32", "crc32c", "downconvert", "records", "recordvalues"]

if TYPE_CHECKING or COMPILED:
    from kcli.core import downconvert, records, recordvalues
    from kcli.core.crc import crc32, crc32c
else:
    from kcli.records.interpreted import downconvert, records, recordvalues
    from kcli.records.interpreted.crc import crc32, crc32c
