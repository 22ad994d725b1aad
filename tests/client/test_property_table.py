from kcli.client.properties import ClientConfig, convert
from kcli.client.property_table import IGNORED, PROPERTIES


def test_a_property_is_used_or_ignored_never_both() -> None:
    assert not IGNORED & set(PROPERTIES)


def test_each_default_is_a_value_of_its_own_type_and_choices() -> None:
    config = ClientConfig()
    for name, known in PROPERTIES.items():
        assert config[name] == convert(known, known.default)
    assert config["fetch.max.bytes"] == 50 * 1024 * 1024
    assert config["ssl.enabled.protocols"] == ("TLSv1.2", "TLSv1.3")
    assert config["remote.max.partition.fetch.bytes"] is None
