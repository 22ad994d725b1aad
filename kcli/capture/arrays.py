"""What the core makes as columns, as Arrow arrays: without a Python object for a value."""

from __future__ import annotations

from typing import Any

from kcli.schemas.errors import error_name

__all__ = ["error_names", "integers", "strings"]


def strings(made: tuple[Any, Any], missing: Any = None) -> Any:
    """A column of text: where each row's ends (int32, behind a 0), and all of it. missing: rows without one."""
    import pyarrow

    ends, data = made
    buffers = [validity(missing), pyarrow.py_buffer(ends), pyarrow.py_buffer(data)]
    return pyarrow.Array.from_buffers(pyarrow.string(), len(ends) // 4 - 1, buffers)


def validity(missing: Any) -> Any:
    """The bitmap of rows that have a value; None for all of them."""
    import numpy
    import pyarrow

    if missing is None or not missing.any():
        return None
    return pyarrow.py_buffer(numpy.packbits(~missing, bitorder="little").tobytes())


def integers(values: Any, kind: str, missing: Any = None) -> Any:
    """A column of numbers of that numpy type. missing: rows without one."""
    import numpy
    import pyarrow

    if kind == "bool":
        return pyarrow.array(values.astype(kind), mask=missing)
    # pyarrow.array with a mask imports pandas, which takes longer than a small capture.
    data = numpy.ascontiguousarray(values, {"double": "float64"}.get(kind, kind))
    buffers = [validity(missing), pyarrow.py_buffer(data)]
    return pyarrow.Array.from_buffers(pyarrow.from_numpy_dtype(data.dtype), len(data), buffers)


def error_names(ends: bytes, codes: bytes) -> Any:
    """A column of lists, the names of each row's codes: where each row's end (int32), and all codes (int64)."""
    import numpy
    import pyarrow

    found, index = numpy.unique(numpy.frombuffer(codes, numpy.int64), return_inverse=True)
    names = pyarrow.array([error_name(code) for code in found.tolist()], pyarrow.string())
    offsets = pyarrow.array(numpy.frombuffer(ends, numpy.int32))
    return pyarrow.ListArray.from_arrays(offsets, names.take(pyarrow.array(index)))
