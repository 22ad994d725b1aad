"""`kcli schema vectors`: messages as bytes and JSON, for those who write Kafka's protocol elsewhere."""

import click

from kcli.cli.options.inputs import dialect_option, quiet_option
from kcli.cli.schema.choice import chosen
from kcli.cli.terminal.lines import print_line
from kcli.jsontext import dumps


@click.command("vectors")
@click.argument("name", metavar="MESSAGE|DIR")
@click.argument("version", type=int, required=False)
@dialect_option
@quiet_option("No warnings.", used=False)
def vectors_command(name: str, version: int | None, dialect: str | None) -> None:
    """Print test vectors of a message, both messages of an API, or all messages in DIR: one JSON line per vector.

    A vector has the message's name and version, the name of the case, the bytes as hex, and the JSON that `kcli decode`
    prints for them. Cases are defaults, nulls, each tag, limits of numbers, sizes at which a compact length gets
    longer, and an unknown tag. Without VERSION kcli prints all versions, of DIR those that it defines. Headers are
    separate messages (RequestHeader, ResponseHeader).

    \b
    kcli schema vectors Fetch 12
    kcli schema vectors my-kip/ > vectors.jsonl
    """
    from kcli.grammar import messages
    from kcli.schemas.vectors.values import vectors

    dialect, _, found = chosen(name, version, dialect)
    for message in found:
        for each in message.versions if version is None else (version,):
            codec = messages.data(message.name, each, dialect)
            begun = f'{{"message":{dumps(message.name)},"version":{each},"case":'
            for case, value in vectors(message, each):
                data = codec.write(value)
                text = codec.json(data, records="raw", secrets=True)[0].decode()
                print_line(f'{begun}{dumps(case)},"hex":"{data.hex()}","json":{text}}}')
