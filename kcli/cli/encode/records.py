"""`kcli encode batch`: record batches from the JSON that `decode` prints."""

from typing import Any

import click

from kcli.cli.decode.coprocess import Reply, answer_lines, bytes_in
from kcli.cli.decode.lines_option import lines_option
from kcli.cli.encode.message import line_form, text_as, to_option, write_as
from kcli.cli.options.inputs import quiet_option, read_json
from kcli.cli.terminal.output import one_form_output_option, open_output
from kcli.errors import InputError
from kcli.input_names import name_of
from kcli.jsontext import loads


@click.command()
@click.argument("file", default="-")
@to_option
@lines_option("a batch or a list of batches in JSON by a line of hex or base64")
@click.option("--level", type=int, help="Compression level of compressed batches (default: Kafka's).")
@one_form_output_option
@quiet_option("No warnings.", used=False)
def batch(file: str, form: str | None, lines: bool, level: int | None, output: str | None) -> None:
    """Encode record batches from JSON, as printed by `decode batch` or `decode segment --records full`.

    FILE ("-", the default: standard input) has one batch, a list of batches, or one per line, of any magic and codec.
    Missing fields are computed from the records: {"records": [{"value": "hello"}]} is a batch. If the JSON has the
    stored payload ("_payload") and the records still match it, the bytes are exactly those that were decoded.

    \b
    echo '{"records": [{"value": "hello"}]}' | kcli encode batch -o batch.bin
    kcli decode batch batch.bin | kcli encode batch --to hex
    """
    from kcli.records.encoding import encode_batches

    if lines:
        text_form = line_form(form)

        def answer(text: bytes, number: int) -> Reply:
            return Reply(text_as(text_form, encode_batches(rows_of(text, number), level)))

        answer_lines(file, answer, output)
        return
    try:
        rows = read_rows(read_json(file))
        with open_output(output, [file]) as out:
            data = encode_batches(rows, level)
            out.write(write_as(form, data))
    except InputError as error:
        raise error.within(name_of(file)) from None


def batch_bytes(row: Any, number: int) -> bytes:
    """Return the batches on a line of JSON: fields, a list of them, or bytes as "hex" or "base64".
    Raises InputError.
    """
    if isinstance(row, dict) and ("hex" in row or "base64" in row):
        return bytes_in(row, number)
    from kcli.records.encoding import encode_batches

    return encode_batches(row if isinstance(row, list) else [row])


def read_rows(text: bytes) -> list[dict[str, Any]]:
    """Read a batch, a list of batches, or a batch on each line."""
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
