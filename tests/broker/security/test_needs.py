"""Every API asks for its permissions."""

from kcli.broker.apis import APIS
from kcli.broker.security.needs import NEEDS
from kcli.schemas import apikeys as keys

# Before a login nothing is asked, tokens are refused to everybody; the others depend on what a request names, and ask
# where they are served.
ASKED_ELSEWHERE = {
    keys.API_VERSIONS, keys.SASL_HANDSHAKE, keys.SASL_AUTHENTICATE,
    keys.ALTER_CONFIGS, keys.CREATE_TOPICS, keys.DESCRIBE_CLUSTER, keys.DESCRIBE_CONFIGS,
    keys.INCREMENTAL_ALTER_CONFIGS, keys.WRITE_TXN_MARKERS,
    keys.CREATE_DELEGATION_TOKEN, keys.RENEW_DELEGATION_TOKEN, keys.EXPIRE_DELEGATION_TOKEN,
    keys.DESCRIBE_DELEGATION_TOKEN,
}  # fmt: skip


def test_an_api_without_a_line_would_be_open_to_everybody() -> None:
    assert APIS.keys() - NEEDS.keys() == ASKED_ELSEWHERE
    assert NEEDS.keys() <= APIS.keys()
