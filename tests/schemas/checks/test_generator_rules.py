"""Drafts with one mistake each: what Kafka's generator refuses is found (tests/real/test_generator.py asks it)."""

from pathlib import Path

import pytest

from kcli.schemas.catalog import catalog
from kcli.schemas.checks.draft_check import check_folder
from tests.schemas.drafts import drafts

DRAFTS = dict(drafts())
REFUSED = """
text behind
misspelt key of a field
misspelt key of the message
no versions
versions blank
valid versions blank
valid versions open
deprecated versions half
api key null
deprecated versions of a common struct, half
flexible override blank
records tagged
map of no version
flexible override below the message's
no valid versions
valid versions none
no flexible versions
flexible versions closed
flexible versions none
no name
no type
unknown type
no api key
api key of many digits
unknown listener
listeners of a response
unstable data
bad range
range of text
name with a dash
name with an underscore
no type of a field
unknown type of a field
struct in lower case
array of arrays
array of records
array of nothing
fields of a scalar
struct twice
struct used again
common struct without versions
common struct twice
common struct and its own
common struct in lower case
struct that holds itself
tag twice
gap in tags
tag without versions
tagged without tag
tag negative
tagged closed
tagged below its versions
tagged later than its versions
tagged in an inflexible version
tagged and partly nullable
gap of tags in a struct
tagged map key
nullable int
nullable uuid
default null, not nullable
default null, partly nullable
default of an int as text
default of an int with an underscore
default of an int with white space
default of a float, Python's
default of a float with an underscore
default of an int too large
default of an int8 too large
default of an int16 negative
default of a uint16 too large
default of a bool as yes
default of a float as text
default of a uuid as text
default of bytes
default of an array
default of an array as a number
default of a struct
entity of another type
unknown entity
ignorable as yes
map key of a scalar array
map key at the top
zero copy of an int
flexible override of an int
flexible override of an array
fields of text
no JSON
a list
request in a data name
metadata record without a key
""".strip().splitlines()
# What kcli refuses and the generator takes, by rule: the table in docs/how-to/drafts.md says why.
STRICTER = {
    "name twice": "name-twice",
    "name twice but for its first letter": "name-twice",
    "name twice in other versions": "name-twice",
    "struct without fields": "definition",
    "array of a struct without fields": "definition",
    "range backward": "definition",
    "versions above": "versions-outside",
    "member above its struct": "versions-outside",
    "api key negative": "key-range",
}


def rules(folder: Path, name: str) -> list[str]:
    """The rules that a draft breaks; one message alone has no counterpart."""
    (folder / "Draft.json").write_text(DRAFTS[name])
    return [each.rule for each in check_folder(folder, catalog(), "4.4") if each.rule != "no-counterpart"]


@pytest.mark.parametrize("name", DRAFTS)
def test_what_the_generator_refuses_is_found_and_what_else_is_explained(tmp_path: Path, name: str) -> None:
    found = rules(tmp_path, name)
    if name in STRICTER:
        assert found == [STRICTER[name]]
    else:
        assert bool(found) == (name in REFUSED), found


def test_the_documents_explain_each_rule_that_the_generator_has_not() -> None:
    text = (Path(__file__).parents[3] / "docs" / "how-to" / "drafts.md").read_text()
    assert not [rule for rule in set(STRICTER.values()) if f"`[{rule}]`" not in text]


def test_a_draft_of_each_kind_is_there() -> None:
    assert len(REFUSED) > 70 and not set(REFUSED) - set(DRAFTS)
