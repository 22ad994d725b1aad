"""The constants of kcli/core/codec/layouts.h and layouts.pxd, from the grammars: where the fields of batches stand.

python -m tools.layouts           write both anew (make layouts)
"""

import re
from collections.abc import Iterator
from pathlib import Path

from kcli.grammar import batches, messages
from kcli.grammar.words.structs import Struct

__all__ = ["CORE", "files"]

CORE = Path(__file__).resolve().parents[1] / "kcli" / "core" / "codec"
TOP = """\
/* Where the fields of batches, messages and request headers stand, in bytes. Made by tools/layouts.py from kcli/grammar
 * (`make layouts`); a test fails when this is stale. */
#ifndef KCLI_LAYOUTS_H
#define KCLI_LAYOUTS_H
"""


def offsets(prefix: str, grammar: Struct) -> Iterator[tuple[str, int]]:
    """Each field's name and offset, as far as the fields before it have a fixed width."""
    at = 0
    for field in grammar.fields:
        name = re.sub("([A-Z])", r"_\1", field.name).upper()
        yield f"{prefix}_{name}", at
        if field.subcon.size is None:
            return
        at += field.subcon.size


def constants() -> Iterator[tuple[str, int]]:
    header = dict(offsets("KB_AT", batches.BATCH_HEADER))
    counted = header["KB_AT_PARTITION_LEADER_EPOCH"]  # where what the size field counts begins
    yield "KB_OVERHEAD", counted
    yield "KB_HEADER_2", batches.BATCH_HEADER.sizeof()
    # The least that a size field may say, by magic: the fields behind it, key and value empty.
    yield "KB_LEAST", batches.MESSAGES[0].least - counted
    yield "KB_LEAST_1", batches.MESSAGES[1].least - counted
    yield "KB_LEAST_2", batches.BATCH_HEADER.sizeof() - counted
    yield from header.items()
    yield "KB_MESSAGE_0", batches.MESSAGES[0].least
    yield "KB_MESSAGE_1", batches.MESSAGES[1].least
    yield from offsets("KB_AT_0", batches.MESSAGES[0])
    yield from offsets("KB_AT_1", batches.MESSAGES[1])
    yield from offsets("KB_AT", messages.data("RequestHeader", 1).grammar)


def files() -> dict[str, str]:
    """The text of each file, by its name in kcli/core/codec."""
    lines = "".join(f"    {name} = {value},\n" for name, value in constants())
    names = "".join(f"    enum: {name}\n" for name, _ in constants())
    return {
        "layouts.h": f"{TOP}\nenum {{\n{lines}}};\n\n#endif\n",
        "layouts.pxd": f'# The constants of layouts.h, and made with it.\ncdef extern from "layouts.h" nogil:\n{names}',
    }


if __name__ == "__main__":
    for name, text in files().items():
        (CORE / name).write_text(text)
