"""Settings in advice, by the names that the client's library has for them."""

from pathlib import Path

import pytest

from kcli.rules.settings import NAMES, own_names
from tests.rules.test_by_hand import Talk, fetched, found, told


@pytest.mark.parametrize("library", NAMES)
def test_a_library_has_other_names_and_only_those_are_told(library: str) -> None:
    advice = f"set {', '.join(NAMES[library])}; retention.ms stays"
    told = own_names(advice, library)
    assert told.startswith(f" ({library}: ") and "retention" not in told
    assert all(f"{java} is {own}" in told for java, own in NAMES[library].items())
    assert own_names("create the topic", library) == ""


def test_fetch_sizes_are_found_whole() -> None:
    """The name of one setting is the end of another's."""
    assert own_names("a larger max.partition.fetch.bytes", "franz-go").count(" is ") == 1


@pytest.mark.parametrize(
    ("software", "name"), [("sarama", "Consumer.Offsets.Initial"), ("apache-kafka-java", None), (None, None)]
)
def test_advice_names_the_settings_of_the_clients_library(
    software: str | None, name: str | None, tmp_path: Path
) -> None:
    talk = Talk()
    if software:
        hello = {"clientSoftwareName": software, "clientSoftwareVersion": "1.50"}
        talk.call(18, 3, hello, {"errorCode": 0, "apiKeys": []})
    finding = told(found(tmp_path, fetched(talk, 6, error=1)), "offset-out-of-range", client="tester")
    assert (f"auto.offset.reset is {name}" in finding.advice) == bool(name)
    assert finding.advice.count(" is ") == bool(name)
