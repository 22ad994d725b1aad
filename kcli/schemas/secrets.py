"""Secrets in Kafka's messages: fields by message and path, and configs by name.

A path is field names without indexes: `resources.configs.value`. The rules for configs are those of Kafka's
KafkaConfig.maybeSensitive and RecordRedactor; docs/reference/secrets.md has the table for users.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from kcli.schemas.field_codes import ConfigResource

ALWAYS = "always"
BY_NAME = "by name"  # a config's value: `is_secret_config` decides by the config's name

LISTENER = r"(?s)listener\.name\.[^.]*\.(.*)"  # DynamicBrokerConfig.ListenerConfigRegex
# After a listener's name, these may have a SASL mechanism in front (DynamicBrokerConfig.ListenerMechanismConfigs).
OF_A_MECHANISM = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)

SCRAM_KEYS = ("salt", "storedKey", "serverKey")  # in UserScramCredentialRecord

SECRETS: Mapping[str, Mapping[str, str]] = {
    "SaslAuthenticateRequest": {"authBytes": ALWAYS},
    "SaslAuthenticateResponse": {"authBytes": ALWAYS},
    "AlterUserScramCredentialsRequest": {"upsertions.salt": ALWAYS, "upsertions.saltedPassword": ALWAYS},
    "UserScramCredentialRecord": {
        **dict.fromkeys(SCRAM_KEYS, ALWAYS),
        # before 3.5
        "credentialInfos.salt": ALWAYS,
        "credentialInfos.saltedPassword": ALWAYS,
    },
    "CreateDelegationTokenResponse": {"hmac": ALWAYS},
    "RenewDelegationTokenRequest": {"hmac": ALWAYS},
    "ExpireDelegationTokenRequest": {"hmac": ALWAYS},
    "DescribeDelegationTokenResponse": {"tokens.hmac": ALWAYS},
    # Whole messages, whose own secrets are redacted instead (kcli.grammar.envelopes).
    "EnvelopeRequest": {"requestData": ALWAYS},
    "EnvelopeResponse": {"responseData": ALWAYS},
    "AlterConfigsRequest": {"resources.configs.value": BY_NAME},
    "IncrementalAlterConfigsRequest": {"resources.configs.value": BY_NAME},
    "CreateTopicsRequest": {"topics.configs.value": BY_NAME},
    "CreateTopicsResponse": {"topics.configs.value": BY_NAME},
    "DescribeConfigsResponse": {"results.configs.value": BY_NAME, "results.configs.synonyms.value": BY_NAME},
    "ConfigRecord": {"value": BY_NAME},
}
NONE: Mapping[str, str] = {}


def secret_fields(message: str) -> Mapping[str, str]:
    """Return {path: ALWAYS or BY_NAME} for a message's name; {} without secrets."""
    return SECRETS.get(message, NONE)


@lru_cache(maxsize=4096)
def is_secret_config(name: str, resource_type: int = 0) -> bool:
    """Return whether a config's value is a secret, because its type in Kafka is PASSWORD, or Kafka has no config of
    that name.

    resource_type: the resource's number in messages (ConfigResource).
    """
    if resource_type == ConfigResource.BROKER_LOGGER:  # log levels by a logger's name
        return False
    from kcli.schemas.config_names import PASSWORDS, PLAIN

    if (listener := re.fullmatch(LISTENER, name)) is not None:
        base = listener[1]
        name = next((config for config in OF_A_MECHANISM if base.endswith(config)), base)
    return name in PASSWORDS or name not in PLAIN
