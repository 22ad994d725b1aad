"""`kcli encode batch`: record batches from the JSON that `decode` prints."""

from __future__ import annotations

from typing import Any

import click

from kcli.cli.encode_message import FORMS, write_as
from kcli.cli.inputs import quiet_option, read_json
from kcli.cli.kinds import name_of
from kcli.cli.output import open_output, output_option
from kcli.errors import InputError
from kcli.jsontext import loads

__all__ = ["batch"]


@click.command()
@click.argument("file", default="-")
@click.option("--to", "form", type=FORMS, default="raw", show_default=True, help="Write bytes, or their text.")
@click.option("--level", type=int, help="Compression level of batches that are compressed again (default: Kafka's).")
@output_option
@quiet_option("No warnings.", used=False)
def batch(file: str, form: str, level: int | None, output: str | None) -> None:
    """Encode record batches from JSON: what `decode batch` prints, or `decode segment --records full`.

    FILE ("-", the default: standard input) holds one batch, a list of them, or one on each line. Any magic and codec;
    fields left out take what follows from the records: {"records": [{"value": "hello"}]} is a batch. Where the stored
    payload is carried ("_payload") and still holds the records, the bytes are exactly those that were decoded.

    \b
    echo '{"records": [{"value": "hello"}]}' | kcli encode batch -o batch.bin
    kcli decode batch batch.bin | kcli encode batch --to hex
    """
    from kcli.records.encoding import encode_batches

    try:
        rows = read_rows(read_json(file))
        with open_output(output, [file]) as out:
            data = encode_batches(rows, level)
            out.write(write_as(form, data))
    except InputError as error:
        raise error.within(name_of(file)) from None


def read_rows(text: bytes) -> list[dict[str, Any]]:
    """A batch, a list of batches, or a batch on each line."""
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        value = loads(text)
    except InputError:
        if len(lines) < 2:
            raise
        return [row for number, line in enumerate(lines, 1) for row in rows_of(line, number)]
    return value if isinstance(value, list) else [value]


def rows_of(line: bytes, number: int) -> list[dict[str, Any]]:
    value = loads(line, line=number)
    return value if isinstance(value, list) else [value]
