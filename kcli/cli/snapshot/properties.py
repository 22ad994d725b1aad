"""Files of Java properties that a node has: its server.properties, with the settings of the metadata log."""

from __future__ import annotations

from pathlib import Path

from kcli.errors import InputError
from kcli.java_properties import number_of, read_properties
from kcli.snapshots.history.projection import DEFAULTS

FILE = "server.properties"


def settings_of(folder: Path, given: str | None) -> tuple[str | None, dict[str, int]]:
    """Return the file that was read, and the settings by Kafka's names, its defaults among them.

    given: the file; None: the one beside the folder, in its log directory, or above that, if there is one. Raises
    InputError if the file can't be read, or a value is no number.
    """
    places = [folder.parent / FILE, folder.absolute().parent.parent / FILE] if given is None else [Path(given)]
    path = next((each for each in places if each.is_file()), None)
    if path is None:
        if given is not None:
            raise InputError("no such file", file=given)
        return None, dict(DEFAULTS)
    known, settings = read_properties(path), dict(DEFAULTS)
    for name in settings.keys() & known.keys():
        try:
            settings[name] = number_of(known[name].strip())
        except ValueError:
            raise InputError(f"{name}={known[name]}: a whole number expected", file=str(path)) from None
    return str(path), settings
