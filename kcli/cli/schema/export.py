"""`kcli schema export`: the message tables for other tools: a dissector for Wireshark, Kaitai Struct, JSON Schema."""

import click

from kcli.cli.options.inputs import dialect_option, quiet_option
from kcli.cli.terminal.output import one_form_output_option, open_output
from kcli.schemas.catalog import catalog

FORMS = ("wireshark-lua", "kaitai", "json-schema")


@click.command()
@click.option("--to", "form", type=click.Choice(FORMS), required=True, help="The tool to write for.")
@dialect_option
@one_form_output_option
@quiet_option("No warnings.", used=False)
def export(form: str, dialect: str | None, output: str | None) -> None:
    """Write every API in every version for another tool, in one file.

    wireshark-lua: a dissector for Wireshark and tshark 4.0 or newer. It pairs requests with responses, decodes tagged
    fields and batches, and reports errors and damage as expert infos; fields have Kafka's names:
    kafka2.FetchRequest.maxWaitMs. kaitai: a specification for Kaitai Struct, of frames, messages and batches.
    json-schema: the JSON Schema of the lines that decode and records print.

    \b
    kcli schema export --to wireshark-lua -o kafka.lua
    kcli schema export --to wireshark-lua --dialect my-kip/ -o ~/.local/lib/wireshark/plugins/kafka.lua
    kcli schema export --to kaitai > kafka.ksy
    """
    tables = catalog(dialect)
    if form == "wireshark-lua":
        from kcli.schemas.export.wireshark import wireshark_lua as lines
    elif form == "kaitai":
        from kcli.schemas.export.kaitai import kaitai as lines
    else:
        from kcli.schemas.export.json_schema import json_schema as lines
    with open_output(output, []) as out:
        for line in lines(tables):
            out.write(line.encode() + b"\n")
