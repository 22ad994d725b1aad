from kcli.schemas.config_names import PASSWORDS, PLAIN


def test_no_name_is_both() -> None:
    assert not PASSWORDS & PLAIN


def test_names_of_every_kind_of_resource() -> None:
    assert {"log.retention.ms", "retention.ms", "consumer.session.timeout.ms", "interval.ms"} <= PLAIN
    assert {
        "sasl.jaas.config",
        "ssl.keystore.key",
        "delegation.token.master.key",
        "password.encoder.secret",
    } <= PASSWORDS
    assert {"host.name", "zookeeper.connect"} <= PLAIN  # of old releases alone
