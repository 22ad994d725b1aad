"""Users by the names in clients' certificates (KIP-371)."""

import pytest

from kcli.broker import Broker
from kcli.broker.configs import Configs
from kcli.broker.security.principal_rules import read_rules, user_of
from kcli.broker.security.protection import Protection
from kcli.errors import KcliError, UsageError
from kcli.schemas.apikeys import DESCRIBE_CLUSTER, METADATA
from tests.broker.security.logging_in import ready
from tests.broker.security.test_listener_contexts import CLIENT
from tests.broker.talk import run

RULES = "ssl.principal.mapping.rules"


@pytest.mark.parametrize(
    ("rules", "name", "user"),
    [
        ("DEFAULT", "CN=kafka,O=x", "CN=kafka,O=x"),
        (r"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/, DEFAULT", "CN=kafka,OU=ServiceUsers,O=x", "kafka"),
        (r"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/, DEFAULT", "CN=kafka,OU=Others", "CN=kafka,OU=Others"),
        (r"RULE:^CN=(.*?),OU=(.*?),.*$/$1@$2/L", "CN=Duke,OU=JavaSoft,O=x", "duke@javasoft"),
        (r"RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U", "OU=a,cn=duke.1,O=x", "DUKE.1"),
        (r"RULE:CN=([^,]*)(,.*)?/a\/$1$2/", "CN=b", "a/b"),
        (r"RULE:O=.*/x/", "CN=b", None),
        ("", "CN=b", None),
    ],
)
def test_rules(rules: str, name: str, user: str | None) -> None:
    assert user_of(read_rules(rules), name) == user


@pytest.mark.parametrize("rules", ["RULE:a/b", "RULE:(/b/", "RULE:a/$1/", "RULE:a/b/X", "DEFAULTS", "nothing"])
def test_rules_that_make_no_sense(rules: str) -> None:
    with pytest.raises(ValueError):
        read_rules(rules)
    with pytest.raises(UsageError, match=RULES):
        Configs({f"listener.name.a.{RULES}": rules})


def test_clients_are_who_the_rules_of_their_listener_say() -> None:
    # Listener B lets nobody in whose name begins otherwise; superusers are named by the user.
    config = {f"listener.name.a.{RULES}": r"RULE:.*CN=([^,]*).*/$1/U", f"listener.name.b.{RULES}": r"RULE:OU=.*/x/"}
    config |= {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    pair = (CLIENT / "client.pem").read_text()
    store = {"ssl.keystore.key": (CLIENT / "client.key").read_text(), "ssl.keystore.certificate.chain": pair}
    store["ssl.key.password"] = "key-secret"
    protection = Protection(tls=True, tls_client_ca=str(CLIENT / "client.pem"))

    async def work() -> None:
        for superuser, allowed in (("ALICE", True), ("alice", False)):
            own = config | {"super.users": f"User:{superuser}"}
            async with Broker(config=own, listeners=["A=SSL", "B=SSL"], protection=protection) as broker:
                trust = {"security.protocol": "SSL", "ssl.truststore.certificates": broker.security.tls.ca_certificate}
                async with ready(broker, trust | store, "A") as talk:
                    answer = await talk(DESCRIBE_CLUSTER, 2, {"includeClusterAuthorizedOperations": True})
                    assert (answer["clusterAuthorizedOperations"] > 0) == allowed
                with pytest.raises(KcliError):
                    async with ready(broker, trust | store, "B") as talk:
                        await talk(METADATA, 12, {"topics": None})

    run(work())
