"""Clients that log in to a broker, as kcli's own client does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kcli.broker import Broker
from kcli.client.address import parse_bootstrap
from kcli.client.handshake import connect
from kcli.client.properties import ClientConfig
from tests.broker.talk import Talk

MODULES = {"PLAIN": "plain.PlainLoginModule", "OAUTHBEARER": "oauthbearer.OAuthBearerLoginModule"}


@asynccontextmanager
async def logged_in(broker: Broker, user: str, password: str, mechanism: str = "PLAIN") -> AsyncIterator[Talk]:
    module = f"org.apache.kafka.common.security.{MODULES.get(mechanism, 'scram.ScramLoginModule')}"
    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{module} required username="{user}" password="{password}";',
    }
    async with ready(broker, properties) as made:
        yield made


@asynccontextmanager
async def ready(broker: Broker, properties: dict[str, str], listener: str = "") -> AsyncIterator[Talk]:
    """A connection with these properties, logged in where they say how. listener: the first by default."""
    address = broker.bootstrap_of(listener or broker.listeners[0].name).split(",")[0]
    session = await connect(parse_bootstrap([address])[0], ClientConfig({"bootstrap.servers": address, **properties}))
    try:
        yield Talk(broker, session.connection)
    finally:
        await session.connection.close()
