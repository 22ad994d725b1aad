"""`decode pcap --format jsonl --embedded`: lines with the messages that group members embed."""

import re

from kcli.grammar.group_data import GROUPS, add_group_data
from kcli.jsontext import dumps, loads
from kcli.schemas.catalog import catalog

# The key before an embedded message; within a string its quotes would be escaped.
KEY = re.compile(rb'"requestHeader":\{"requestApiKey":(-?\d+)')


class EmbeddedLines:
    """Adds embedded messages to the lines of group APIs."""

    def __init__(self, dialect: str | None) -> None:
        self.dialect = dialect
        apis = catalog(dialect).apis
        self.names = {key: sides for key, api in apis.items() if {*(sides := (api.request, api.response))} & {*GROUPS}}

    def line(self, line: bytes) -> bytes:
        """Return the line, with embedded messages added where an exchange has them."""
        found = KEY.search(line)
        names = self.names.get(int(found[1])) if found else None
        if names is None:
            return line
        row = loads(line)
        for name, side in zip(names, ("request", "response"), strict=True):
            add_group_data(name, row.get(side), self.dialect)
        return dumps(row).encode() + b"\n"
