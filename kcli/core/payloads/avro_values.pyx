"""Reads Avro values in their JSON form: bytes as base64, numbers that JSON lacks as text, logical types as the type's
`turn` makes them.

A schema is a tree of types, which may refer back to itself. Nothing is allocated for a count before its bytes are known
to be there, and values are counted, as items of an array may take no bytes.
"""

from binascii import b2a_base64

from cpython.float cimport PyFloat_FromDouble
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.math cimport isfinite, isnan
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    DEEPEST = 100             # levels of a value
    ALLOWED = 10_000          # values of a payload, whatever its size
    MOST_A_BYTE = 16          # values for each further byte
    LONGEST = 10              # bytes of a number

cdef enum Kind:
    NOTHING, BOOLEAN, INT, LONG, FLOAT, DOUBLE, BYTES, STRING, FIXED, ENUM, ARRAY, MAP, UNION, RECORD

KINDS = {
    "null": NOTHING, "boolean": BOOLEAN, "int": INT, "long": LONG, "float": FLOAT, "double": DOUBLE, "bytes": BYTES,
    "string": STRING, "fixed": FIXED, "enum": ENUM, "array": ARRAY, "map": MAP, "union": UNION, "record": RECORD,
    "error": RECORD,
}
SHORT = "not of this schema: it ends too early"


class ValueDamageError(ValueError):
    """Bytes are no value of the schema, or one with more levels or values than are read."""


cdef class Type:
    """A type. names: of a record's fields, or an enum's symbols; size: of a fixed; turn: converts a logical type's
    number, text or bytes to JSON.
    """

    cdef int kind
    cdef Py_ssize_t size
    cdef tuple names
    cdef object turn
    cdef tuple inner

    def __init__(self, str kind not None, names=(), size=0, turn=None):
        self.kind, self.names, self.size, self.turn, self.inner = KINDS[kind], tuple(names), size, turn, ()

    def hold(self, inner):
        """Set the types of its fields, items or branches."""
        made = tuple(inner)
        if not all(isinstance(each, Type) for each in made):
            raise TypeError("types expected")
        wanted = {ARRAY: 1, MAP: 1, RECORD: len(self.names), UNION: len(made)}.get(self.kind, 0)
        if len(made) != wanted:
            raise ValueError(f"{wanted} types expected")
        self.inner = made


cdef class Reader:
    """A position in the bytes of one value. left: values that may follow."""

    cdef const uint8_t* at
    cdef const uint8_t* end
    cdef int64_t left

    cdef int64_t number(self) except? -1:
        """Read a zigzag number."""
        cdef uint64_t value = 0
        cdef int shift = 0
        cdef uint8_t byte
        while True:
            if self.at >= self.end:
                raise ValueDamageError(SHORT)
            if shift > 63:
                raise ValueDamageError("a number that is too large")
            byte = self.at[0]
            self.at += 1
            value |= <uint64_t>(byte & 0x7F) << shift
            if byte < 0x80:
                return <int64_t>(value >> 1) ^ -<int64_t>(value & 1)
            shift += 7

    cdef const uint8_t* pass_over(self, int64_t size) except NULL:
        """Return the start of `size` bytes, and skip them."""
        cdef const uint8_t* start = self.at
        if size < 0 or size > self.end - start:
            raise ValueDamageError(SHORT)
        self.at += size
        return start

    cdef str text(self):
        """Read a string."""
        cdef int64_t size = self.number()
        cdef const uint8_t* start = self.pass_over(size)
        try:
            return PyUnicode_DecodeUTF8(<const char*>start, size, "strict")
        except UnicodeDecodeError as error:
            raise ValueDamageError(f"not of this schema: {error}") from None

    cdef int64_t block(self) except? -1:
        """Read the number of items in a block; 0: it is the last."""
        cdef int64_t count = self.number()
        if count < 0:
            self.number()  # its size in bytes
            count = -count
            if count < 0:
                raise ValueDamageError("more values than its bytes allow")
        return count

    cdef object value(self, Type kind, int depth):
        """Read a value."""
        cdef int of = kind.kind
        cdef int64_t number
        cdef Py_ssize_t i
        cdef float single
        cdef double real
        cdef const uint8_t* start
        self.left -= 1
        if depth > DEEPEST:
            raise ValueDamageError(f"deeper than {DEEPEST} levels")
        if self.left < 0:
            raise ValueDamageError("more values than its bytes allow")
        if of == RECORD:
            made = {}
            for i in range(len(kind.names)):
                made[kind.names[i]] = self.value(<Type>kind.inner[i], depth + 1)
            return made
        if of == UNION:
            number = self.number()
            if number < 0 or number >= len(kind.inner):
                raise ValueDamageError("not of this schema: a union or enum has no such member")
            return self.value(<Type>kind.inner[number], depth + 1)
        if of == STRING:
            return self.text() if kind.turn is None else kind.turn(self.text())
        if of == INT or of == LONG:
            number = self.number()
            return number if kind.turn is None else kind.turn(number)
        if of == NOTHING:
            return None
        if of == BOOLEAN:
            return self.pass_over(1)[0] != 0
        if of == DOUBLE:
            memcpy(&real, self.pass_over(8), 8)
            return PyFloat_FromDouble(real) if isfinite(real) else name_of(real)
        if of == FLOAT:
            memcpy(&single, self.pass_over(4), 4)
            return PyFloat_FromDouble(single) if isfinite(single) else name_of(single)
        if of == ENUM:
            number = self.number()
            if number < 0 or number >= len(kind.names):
                raise ValueDamageError("not of this schema: a union or enum has no such member")
            return kind.names[number]
        if of == ARRAY:
            return self.array(<Type>kind.inner[0], depth + 1)
        if of == MAP:
            return self.map(<Type>kind.inner[0], depth + 1)
        number = kind.size if of == FIXED else self.number()
        start = self.pass_over(number)
        raw = <bytes>(<const char*>start)[:number]
        return b2a_base64(raw, newline=False).decode() if kind.turn is None else kind.turn(raw)

    cdef list array(self, Type item, int depth):
        """Read the items of an array."""
        cdef list made = []
        cdef int64_t count = self.block()
        while count:
            while count:
                made.append(self.value(item, depth))
                count -= 1
            count = self.block()
        return made

    cdef dict map(self, Type item, int depth):
        """Read the items of a map."""
        cdef dict made = {}
        cdef int64_t count = self.block()
        while count:
            while count:
                key = self.text()
                made[key] = self.value(item, depth)
                count -= 1
            count = self.block()
        return made


cdef str name_of(double number):
    """Return the name of a number that JSON lacks."""
    return "NaN" if isnan(number) else "Infinity" if number > 0 else "-Infinity"


def read(Type root not None, bytes data not None, Py_ssize_t start):
    """Return the value from `start` on, which has to take all bytes. Raises ValueDamageError if there is none, or it
    has more levels or values than are read.
    """
    cdef Reader reader = Reader.__new__(Reader)
    cdef const uint8_t* first = <const uint8_t*>data
    if not 0 <= start <= len(data):
        raise ValueDamageError(SHORT)
    reader.at = first + start
    reader.end = first + len(data)
    reader.left = ALLOWED + MOST_A_BYTE * (len(data) - start)
    value = reader.value(root, 1)
    if reader.at != reader.end:
        raise ValueDamageError(
            f"not of this schema: {reader.end - reader.at} of {len(data) - start} bytes are left behind it"
        )
    return value
