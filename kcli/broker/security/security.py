"""Protection of a broker: the protocol of its listeners, logins, permissions."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kcli.broker.clock import Clock
from kcli.broker.configs import Configs
from kcli.broker.net.protocols import ENCRYPTED, LOGS_IN, PROTOCOLS, ListenerOptions
from kcli.broker.security.acls import ANONYMOUS, authorizer_of
from kcli.broker.security.listener_configs import ListenerConfigs
from kcli.broker.security.login import Login, Logins, mechanisms_of
from kcli.broker.security.quotas import Quotas
from kcli.broker.security.scram import NAMES, credential_for
from kcli.broker.security.state import Row, SecurityState, scram_record
from kcli.errors import UsageError
from kcli.extras import require

AUTH = "ssl.client.auth"
CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


@dataclass(frozen=True, slots=True)
class Protection:
    """The protection of a broker, besides its configs. users: passwords by name.

    tls_cert, tls_key, tls_client_ca: files in PEM: the listeners' certificates and key (None: in the same file), and
    who signs clients' certificates; with these clients have to show one, unless `ssl.client.auth` says otherwise.
    tls: whether listeners have a certificate of a CA that is made for them. All for listeners whose configs say none.
    """

    users: Mapping[str, str] = field(default_factory=dict)
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_client_ca: str | None = None
    tls: bool = False


def default_listener(configs: Configs, protection: Protection) -> ListenerOptions:
    """Return the listener of a broker that was told of none: with TLS and logins where it can have them."""
    encrypted = ENCRYPTED if protection.tls or protection.tls_cert is not None else 0
    protocol = encrypted + (LOGS_IN if mechanisms_of(ListenerConfigs(configs, ""), protection.users) else 0)
    return ListenerOptions(PROTOCOLS[protocol], protocol)


class Security:
    """tls: by listener, what connections begin with, where they do; logins: likewise; authorizer: None: everybody may
    do everything.

    ca_certificate: of the CA that was made, in PEM, "": none was. UsageError, InputError: options make no sense.
    """

    def __init__(
        self,
        configs: Configs,
        protection: Protection,
        listeners: Sequence[ListenerOptions],
        state: SecurityState,
        clock: Clock,
        host: str = "",
    ) -> None:
        self.users = protection.users
        self.authorizer = authorizer_of(configs, state.acls)
        self.quotas = Quotas(configs, state.quotas, clock)
        self.logins: dict[str, Logins] = {}
        for each in (one for one in listeners if one.logs_in):
            own = ListenerConfigs(configs, each.name)
            if not mechanisms_of(own, self.users):
                raise UsageError(f"listener {each.name}: nobody can log in: users are missing")
            self.logins[each.name] = Logins(own, self.users, state.scram, clock)
        if self.users and not self.logins:
            raise UsageError("users are given, and no listener has SASL")
        encrypted = [each for each in listeners if each.is_encrypted]
        self.tls, self.ca_certificate = contexts(configs, protection, encrypted, host)

    def new_login(self, listener: ListenerOptions) -> Login | None:
        """Begin the login of a connection to a listener; None: nobody has to log in there."""
        logins = self.logins.get(listener.name)
        return Login(logins) if logins is not None else None

    def first_credentials(self) -> list[Row]:
        """Make the records of the SCRAM credentials of the users that were given."""
        names = {name for each in self.logins.values() for name in each.names}
        numbers = [number for number, name in NAMES.items() if name in names]
        return [
            scram_record(user, number, credential_for(number, password))
            for user, password in self.users.items()
            for number in numbers
        ]


def contexts(
    configs: Configs, protection: Protection, listeners: Sequence[ListenerOptions], host: str
) -> tuple[dict[str, ssl.SSLContext], str]:
    """Make the TLS of the listeners that have it, and the certificate of the CA that was made for them ("": none was).

    UsageError, InputError: a listener lacks a certificate, or one is given that no listener has a use for.
    """
    if protection.tls_cert is None and (protection.tls_key or (protection.tls_client_ca and not protection.tls)):
        raise UsageError("TLS needs a certificate: tls_cert is missing")
    if not listeners:
        if protection.tls or protection.tls_cert is not None:
            raise UsageError("a certificate is given, and no listener has TLS")
        return {}, ""
    require("TLS with clients", "tls")
    from kcli.broker.security.listener_tls import made_authority, read_pair, server_context, trust
    from kcli.broker.security.stores import Pair, key_pair, trusted

    common, ca_certificate = None, ""
    if protection.tls_cert is not None:
        common = Pair(read_pair(protection.tls_cert, protection.tls_key), None, protection.tls_cert)
    elif protection.tls:
        authority = made_authority([host])
        common, ca_certificate = Pair(authority.pair, None, "the broker's own certificate"), authority.certificate
    made = {}
    for each in listeners:
        own = ListenerConfigs(configs, each.name)
        pair, wanted = key_pair(own) or common, client_auth(own, protection, each)
        if pair is None:
            raise UsageError(f"listener {each.name}: TLS needs a certificate: tls_cert is missing")
        context = made[each.name] = server_context(pair.text, pair.name, password=pair.password)
        authorities = trusted(own)
        if authorities is None and protection.tls_client_ca is not None:
            authorities = read_pair(protection.tls_client_ca, None), protection.tls_client_ca
        if authorities is not None:
            trust(context, *authorities)
        elif wanted != "none":
            raise UsageError(f"ssl.client.auth={wanted}: ssl.truststore.location or tls_client_ca is missing")
        context.verify_mode = CLIENT_AUTH[wanted]
    return made, ca_certificate


def client_auth(configs: ListenerConfigs, protection: Protection, listener: ListenerOptions) -> str:
    """Return whether clients of a listener have to show a certificate.

    As in Kafka, a listener with SASL heeds the broker's own ssl.client.auth only where it is said for that listener.
    """
    if own := configs.own(AUTH):
        return own
    if protection.tls_client_ca is not None:
        return configs.given(AUTH) or "required"
    return "none" if listener.logs_in else configs.text(AUTH)


def certificate_name(certificate: bytes | None) -> str:
    """Return the principal of a client's certificate (DER), as Java's X500Principal names it; None: it showed none."""
    if not certificate:
        return ANONYMOUS
    from cryptography import x509

    return f"User:{x509.load_der_x509_certificate(certificate).subject.rfc4514_string()}"
