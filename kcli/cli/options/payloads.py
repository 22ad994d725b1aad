"""Options that say how keys and values of records are read, and the decoder that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from kcli.cli.options import Command, with_options

if TYPE_CHECKING:
    from kcli.payloads import PayloadDecoder, PayloadOptions


NAMES = ("value_schemas", "key_schemas", "value_formats", "key_formats", "schemas", "registry_config")


def repeated(flag: str, name: str, metavar: str, text: str) -> Callable[[Command], Command]:
    return click.option(flag, name, multiple=True, metavar=metavar, help=text)


OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--payloads",
        "payloads",
        is_flag=True,
        help="Decode keys and values with the schemas in the capture, and those of topics of Kafka, Connect and "
        "MirrorMaker.",
    ),
    repeated(
        "--value-schema", "value_schemas", "[T=]FILE", "Schema of topic T's values: .avsc, .proto[#Message], .json."
    ),
    repeated("--key-schema", "key_schemas", "[T=]FILE", "Schema of topic T's keys."),
    repeated(
        "--value-format", "value_formats", "[T=]F", "Format of topic T's values: json, utf8, long, uuid, raw, ..."
    ),
    repeated("--key-format", "key_formats", "[T=]F", "Format of topic T's keys."),
    repeated("--schemas", "schemas", "FILE|DIR", "Files with schemas by id: an offline registry."),
    click.option("--schema-registry", "registry", metavar="URL", help="Schema registry to ask for schemas by id."),
    repeated(
        "--registry-config",
        "registry_config",
        "FILE|KEY=VALUE",
        "Properties for the registry: basic.auth.user.info, bearer.auth.token, ssl.ca.location, ...",
    ),
    click.option("--flatten", is_flag=True, help="Show only the row inside Connect's and Debezium's envelopes."),
)


def payload_options(command: Command) -> Command:
    """Add the options of every command that shows payloads."""
    return with_options(command, OPTIONS)


def encoding_options(command: Command) -> Command:
    """Add the options of a command that writes payloads: all except those for reading alone."""
    return with_options(command, OPTIONS[1:-1])


def encoder_of(options: dict[str, Any]) -> PayloadDecoder | None:
    """Return the encoder of payloads for a command's options; None if no option asks for one. Raises UsageError,
    InputError.
    """
    return decoder_of(options | {"payloads": False, "flatten": False, "secrets": True})


def decoder_of(options: dict[str, Any], captures: Sequence[str] = ()) -> PayloadDecoder | None:
    """Return the decoder that a command's options ask for; None: they ask for none. Raises UsageError, InputError.

    captures: files in which schemas are looked for, with --payloads; a pipe can't be read twice.
    """
    wanted = payloads_of(options)
    if wanted is None:
        return None
    from kcli.payloads import PayloadDecoder

    sources: list[Any] = []
    if options["payloads"] and "-" not in captures:
        from kcli.capture.decoder import DecodeOptions
        from kcli.payloads.http_schemas import CapturedSchemas

        read = DecodeOptions(memory=options["memory"], key_logs=options["key_logs"])
        sources.append(CapturedSchemas(captures, read))
    return PayloadDecoder(wanted, *sources)


def payloads_of(options: dict[str, Any]) -> PayloadOptions | None:
    """Return a command's payload options; None if none is given. Raises UsageError if a library is missing."""
    chosen = {name: options[name] for name in (*NAMES, "registry", "flatten")}
    if not (options["payloads"] or any(chosen.values())):
        return None
    from kcli.extras import require

    require("decoding payloads", "payloads")
    from kcli.payloads import PayloadOptions

    return PayloadOptions(on=options["payloads"], secrets=options["secrets"], **chosen)


def files_named(options: dict[str, Any]) -> list[str]:
    """Return the files that these options name, which an output must not replace."""
    named = [each.rpartition("=")[2].partition("#")[0] for name in NAMES[:2] for each in options[name]]
    return [*named, *options["schemas"], *(each for each in options["registry_config"] if "=" not in each)]
