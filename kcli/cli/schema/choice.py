"""The messages that a command about definitions means: by the name of a message or API, or a folder of definitions."""

from collections.abc import Sequence
from pathlib import Path

from kcli.cli.terminal.console import warn
from kcli.counting import few_of
from kcli.errors import UsageError
from kcli.schemas.catalog import catalog
from kcli.schemas.lookup import Catalog, unknown
from kcli.schemas.model import Message

NAMED = 3  # messages without a version


def bare(name: str) -> str:
    """Return a name without case and separators, in which spellings differ."""
    return name.lower().replace("_", "").replace("-", "")


def named(tables: Catalog, name: str) -> list[str]:
    """Return the messages that a name means: one by its own name, however written, or both of an API. Raises
    UsageError.
    """
    wanted = bare(name)
    found = next((each for each in tables.names if each.lower() == wanted), None) or tables.current_names.get(name)
    if found is not None:
        return [found]
    if wanted not in tables.keys_by_name and not wanted.isdigit():
        raise UsageError(unknown("message or API", name, [*(api.name for api in tables.apis.values()), *tables.names]))
    api = tables.known(tables.api_key(name))
    return [api.request, api.response]


def is_named(tables: Catalog, name: str) -> bool:
    """Return whether a message or an API has this name. A folder of the same name is given by a path, as in ./fetch."""
    try:
        return bool(named(tables, name))
    except UsageError:
        return False


def with_versions(messages: Sequence[Message], *versions: int | None, quiet: bool = False) -> list[Message]:
    """Return the messages that have these versions (None: any), and name the others on stderr, unless `quiet`.

    In a draft only the request of an API may have a version yet. Raises UsageError if none has them.
    """
    found, without = [], []
    for message in messages:
        missing = [each for each in versions if each is not None and each not in message.versions]
        if missing:
            without.append(f"{message.name} has no version {missing[0]} (versions {message.versions})")
        else:
            found.append(message)
    if not found:
        raise UsageError(without[0])
    if without:
        warn(few_of(without, NAMED), quiet)
    return found


def chosen(name: str, version: int | None, dialect: str | None) -> tuple[str | None, Catalog, list[Message]]:
    """Return the dialect, its tables, and the messages that a name means, or all that a folder defines: these in the
    folder's own versions, unless `version` is one of Apache's.

    Raises UsageError if there is none, or not in that version, or for a folder under another dialect.
    """
    if not name or not Path(name).is_dir() or is_named(catalog(dialect), name):
        tables = catalog(dialect)
        found = [tables.message(each) for each in named(tables, name)]
    elif dialect is not None:
        raise UsageError(f"{name}: a folder of definitions, so --dialect can't be another")
    else:
        dialect, tables = name, catalog(name)
        found = [folder_message(tables, each, version) for each in sorted(tables.laid or tables.names)]
    return dialect, tables, with_versions(found, version)


def folder_message(tables: Catalog, name: str, version: int | None) -> Message:
    own = tables.written.get(name)
    return own if own is not None and (version is None or version in own.versions) else tables.message(name)
