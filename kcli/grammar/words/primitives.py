"""The types of Kafka's protocol guide under their names there, to define messages of one's own.

Each can be used in any construct. `String` and `Bytes` do not allow null, `NullableString` and `NullableBytes` do;
types with `Compact` in their name have an unsigned varint as length (KIP-482).
"""

from kcli.grammar.words.arrays import Array, CompactArray, Optional
from kcli.grammar.words.scalars import LengthPrefixed, Primitive
from kcli.grammar.words.structs import Struct
from kcli.grammar.words.tagged import Field, TaggedFields
from kcli.grammar.words.varints import UnsignedVarint as _UnsignedVarint
from kcli.grammar.words.varints import Zigzag

__all__ = [
    "Array",
    "Boolean",
    "Bytes",
    "CompactArray",
    "CompactBytes",
    "CompactNullableBytes",
    "CompactNullableString",
    "CompactRecords",
    "CompactString",
    "Field",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "LengthPrefixed",
    "NullableBytes",
    "NullableString",
    "Optional",
    "Primitive",
    "Records",
    "String",
    "Struct",
    "TaggedFields",
    "Uint16",
    "Uint32",
    "UnsignedVarint",
    "Uuid",
    "Varint",
    "Varlong",
]

Boolean, Float64, Uuid = Primitive("bool"), Primitive("float64"), Primitive("uuid")
Int8, Int16, Int32, Int64 = Primitive("int8"), Primitive("int16"), Primitive("int32"), Primitive("int64")
Uint16, Uint32 = Primitive("uint16"), Primitive("uint32")
UnsignedVarint, Varint, Varlong = _UnsignedVarint(), Zigzag(32), Zigzag(64)

String, NullableString = LengthPrefixed("string"), LengthPrefixed("string", nullable=True)
CompactString = LengthPrefixed("string", compact=True)
CompactNullableString = LengthPrefixed("string", nullable=True, compact=True)
Bytes, NullableBytes = LengthPrefixed("bytes"), LengthPrefixed("bytes", nullable=True)
CompactBytes = LengthPrefixed("bytes", compact=True)
CompactNullableBytes = LengthPrefixed("bytes", nullable=True, compact=True)
Records = LengthPrefixed("records", nullable=True)
CompactRecords = LengthPrefixed("records", nullable=True, compact=True)
