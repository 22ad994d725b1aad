"""Makes Arrow arrays of the core's columns, without a Python object for each value.

The arrays are made of buffers, as `pyarrow.array` imports pandas if it is installed, which takes longer than most
captures; so do `take` and `cast` with pyarrow.compute.
"""

import contextlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kcli.schemas.errors import error_name


def strings(made: tuple[Any, Any], missing: Any = None) -> Any:
    """Return a column of text. made: the end of each row's text (int32, after a 0), and all texts as bytes. missing:
    mask of the nulls.
    """
    import pyarrow

    ends, data = made
    ends, data = pyarrow.py_buffer(ends), pyarrow.py_buffer(data)
    return pyarrow.Array.from_buffers(pyarrow.string(), ends.size // 4 - 1, [validity(missing), ends, data])


def texts(values: Iterable[str | bytes | None]) -> Any:
    """Return a column of text from str, UTF-8 bytes, or None."""
    import numpy

    items = list(values)
    with contextlib.suppress(TypeError):  # the usual case: all are texts of ASCII
        together = "".join(items)  # type: ignore[arg-type]
        if together.isascii():
            lengths = numpy.fromiter(map(len, items), numpy.int32, len(items))  # type: ignore[arg-type]
            return strings((ends_of(lengths), together.encode()))
    data = [b"" if value is None else value.encode() if isinstance(value, str) else value for value in items]
    missing = is_none(items) if None in items else None
    return strings((ends_of(numpy.array([*map(len, data)], numpy.int32)), b"".join(data)), missing)


def ends_of(lengths: Any) -> bytes:
    """Return the ends of texts of these lengths as int32, after a 0."""
    import numpy

    return numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int32).tobytes()


def column_of(values: Sequence[Any], kind: Any) -> Any:
    """Return a column of an Arrow type. kind: text, bytes, lists of text or numbers, numbers, or timestamps in
    microseconds.
    """
    import numpy
    import pyarrow

    if pyarrow.types.is_string(kind):
        return texts(values)
    if pyarrow.types.is_binary(kind):
        return texts(values).view(kind)
    if pyarrow.types.is_dictionary(kind):
        different = dict.fromkeys(values)  # each value once, in order
        if None not in different and len(different) == len(values):
            return Among(texts(values), numpy.arange(len(values))).array(kind)
        different.pop(None, None)
        places = {None: 0} | dict(zip(different, range(len(different)), strict=True))
        indexes = numpy.fromiter(map(places.__getitem__, values), numpy.int32, len(values))
        return Among(texts(different), indexes, is_none(values)).array(kind)
    missing = is_none(values)
    if pyarrow.types.is_list(kind):
        below = column_of([each for value in values for each in value or ()], kind.value_type)
        return lists(below, numpy.array([len(value or ()) for value in values]), missing)
    numbers = numpy.array([0 if value is None else value for value in values])
    if pyarrow.types.is_timestamp(kind):
        return integers(numbers, "int64", missing).view(kind)
    return integers(numbers, str(kind), missing)


def batch_of_rows(rows: Sequence[Sequence[Any]], schema: Any) -> Any:
    """Return a record batch of rows, each a sequence of values in the order of the schema."""
    return batch_of_columns([*zip(*rows, strict=True)] or [()] * len(schema), schema)


def batch_of_columns(columns: Sequence[Sequence[Any]], schema: Any) -> Any:
    """Return a record batch of columns, each a sequence of values, in the order of the schema."""
    import pyarrow

    arrays = [column_of(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pyarrow.record_batch(arrays, schema=schema)


def lists(below: Any, lengths: Any, missing: Any = None) -> Any:
    """Return a column of lists. below: an Arrow array of the values of all lists; lengths: of each list; missing: mask
    of the nulls.
    """
    import pyarrow

    buffers = [validity(missing), pyarrow.py_buffer(ends_of(lengths))]
    return pyarrow.Array.from_buffers(pyarrow.list_(below.type), len(lengths), buffers, children=[below])


class Among(NamedTuple):
    """A column of texts that repeat. among: an Arrow array of the texts; places: the index in it, by row; missing: a
    mask of the nulls, or None.
    """

    among: Any
    places: Any
    missing: Any = None

    def array(self, kind: Any) -> Any:
        """Return the column as an Arrow array. kind: its type, a dictionary or text."""
        import pyarrow

        if pyarrow.types.is_dictionary(kind):
            return self.dictionary()
        return self.among.take(integers(self.places, "int32", self.missing))

    def dictionary(self) -> Any:
        """Return the column as a dictionary array."""
        import pyarrow

        index = integers(self.places, "int32", self.missing)
        return pyarrow.DictionaryArray.from_arrays(index, self.among, safe=False)


def numbered(values: Sequence[str | None], numbers: Any) -> Among:
    """Return a column of texts by number, without texts that no row uses. values: the text of each number, None for
    null. numbers: an array with the number of each row.
    """
    import numpy

    is_used = numpy.bincount(numbers, minlength=len(values)) > 0
    known = ~is_none(values)
    place = (numpy.cumsum(is_used & known) - 1).astype(numpy.int32)
    used = [values[number] for number in numpy.flatnonzero(is_used & known).tolist()]
    return Among(texts(used), place[numbers], None if known[is_used].all() else ~known[numbers])


def instants(ns: Any, missing: Any = None) -> Any:
    """Return ns since 1970 as a column of timestamps in microseconds. missing: mask of the nulls."""
    import pyarrow

    return integers(ns // 1000, "int64", missing).view(pyarrow.timestamp("us", "UTC"))


def rows_at(column: Any, places: Any, missing: Any = None) -> Any:
    """Return the rows of a column at these indexes, as its `take` does. missing: mask of further nulls, by index."""
    import numpy
    import pyarrow

    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        return pyarrow.DictionaryArray.from_arrays(
            rows_at(column.indices, places, missing), column.dictionary, safe=False
        )
    missing = nulls_at(column, places, missing)
    if pyarrow.types.is_string(kind) or pyarrow.types.is_list(kind):
        all_ends = numpy.frombuffer(column.buffers()[1], numpy.int32)[column.offset :]
        starts, lengths = all_ends[places], all_ends[places + 1] - all_ends[places]
        if missing is not None:
            lengths[missing] = 0
        ends = numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int32)
        inside = numpy.repeat(starts - ends[:-1], lengths) + numpy.arange(ends[-1])
        if pyarrow.types.is_string(kind):
            data = column.buffers()[2]
            return strings((ends, numpy.frombuffer(data or b"", numpy.uint8)[inside]), missing)
        buffers = [validity(missing), pyarrow.py_buffer(ends)]
        return pyarrow.Array.from_buffers(kind, len(places), buffers, children=[rows_at(column.values, inside)])
    values = numpy.frombuffer(column.buffers()[1], f"int{kind.bit_width}")[column.offset :]
    return integers(values[places], f"int{kind.bit_width}", missing).view(kind)


def nulls_at(column: Any, places: Any, missing: Any = None) -> Any:
    """Return a mask of the rows at these indexes that are null; None if none is. missing: mask of further nulls."""
    import numpy

    bits = column.buffers()[0]
    if bits is None:
        return missing
    last = column.offset + len(column)
    is_null = numpy.unpackbits(numpy.frombuffer(bits, numpy.uint8), bitorder="little", count=last)
    nulls = is_null[column.offset :][places] == 0
    return nulls if missing is None else nulls | missing


def is_none(values: Sequence[Any]) -> Any:
    """Return a mask of the values that are None."""
    import numpy

    return numpy.array([value is None for value in values], bool)


def validity(missing: Any) -> Any:
    """Return the validity bitmap for a mask of nulls; None without nulls."""
    import numpy
    import pyarrow

    if missing is None or not missing.any():
        return None
    return pyarrow.py_buffer(numpy.packbits(~missing, bitorder="little").tobytes())


def integers(values: Any, kind: str, missing: Any = None) -> Any:
    """Return a column of numbers. kind: a numpy type, or "double". missing: mask of the nulls."""
    import numpy
    import pyarrow

    if kind == "bool":
        bits = pyarrow.py_buffer(numpy.packbits(values.astype(bool), bitorder="little").tobytes())
        return pyarrow.Array.from_buffers(pyarrow.bool_(), len(values), [validity(missing), bits])
    data = numpy.ascontiguousarray(values, {"double": "float64"}.get(kind, kind))
    buffers = [validity(missing), pyarrow.py_buffer(data)]
    return pyarrow.Array.from_buffers(pyarrow.from_numpy_dtype(data.dtype), len(data), buffers)


def error_names(ends: bytes, codes: bytes, missing: Any = None) -> Any:
    """Return a column of lists of error names. ends: the end of each row's codes (int32, after a 0); codes: all codes
    (int64). missing: mask of the nulls.
    """
    import numpy
    import pyarrow

    different, places = numpy.unique(numpy.frombuffer(codes, numpy.int64), return_inverse=True)
    names = texts(map(error_name, different.tolist()))
    below = rows_at(names, places)
    bits, offsets = validity(missing), numpy.frombuffer(ends, numpy.int32)
    if bits is None:
        return pyarrow.ListArray.from_arrays(integers(offsets, "int32"), below)
    buffers = [bits, pyarrow.py_buffer(offsets)]
    return pyarrow.Array.from_buffers(pyarrow.list_(pyarrow.string()), len(offsets) - 1, buffers, children=[below])
