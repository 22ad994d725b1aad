"""The protection of a broker by options other than configs, and its default listener."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kcli.broker.configs import Configs
from kcli.broker.net.protocols import ENCRYPTED, LOGS_IN, PROTOCOLS, ListenerOptions
from kcli.broker.security.listener_configs import ListenerConfigs
from kcli.broker.security.login import mechanisms_of


@dataclass(frozen=True, slots=True)
class Protection:
    """The protection of a broker by options other than configs. users: passwords by name.

    tls_cert, tls_key, tls_client_ca: PEM files with the listeners' certificates, their key (None if it is in the same
    file), and the CA of clients' certificates; with a CA clients have to present one, unless `ssl.client.auth` differs.
    tls: listeners have a certificate of a CA that is made for them. All of these are for listeners without configs of
    their own.
    """

    users: Mapping[str, str] = field(default_factory=dict)
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_client_ca: str | None = None
    tls: bool = False


def default_listener(configs: Configs, protection: Protection) -> ListenerOptions:
    """Return the default listener of a broker: with TLS if there is a certificate, with SASL if mechanisms are
    enabled.
    """
    encrypted = ENCRYPTED if protection.tls or protection.tls_cert is not None else 0
    protocol = encrypted + (LOGS_IN if mechanisms_of(ListenerConfigs(configs, ""), protection.users) else 0)
    return ListenerOptions(PROTOCOLS[protocol], protocol)
