"""Keys are those of the tables, and stated once."""

import re
from pathlib import Path

from kcli.schemas import apikeys
from kcli.schemas.catalog import catalog

NAMES = [name for name in vars(apikeys) if name.isupper()]
PACKAGE = Path(apikeys.__file__).parents[1]


def test_each_name_has_its_key() -> None:
    apis = {**catalog("kip-227-draft").apis, **catalog().apis}
    assert {name: getattr(apikeys, name) for name in NAMES} == {
        api.log_name: key for key, api in apis.items() if api.log_name in NAMES
    }


def test_no_other_module_states_a_key() -> None:
    names = "|".join(NAMES)
    stated = re.compile(rf"^\s*(?:\w+, )*(?:{names})(?:, \w+)* = \d", re.MULTILINE)
    others = [path for path in PACKAGE.rglob("*.py") if path.name != "apikeys.py" and stated.search(path.read_text())]
    assert not others
