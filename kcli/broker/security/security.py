"""Protection of a broker: the protocol of its listeners, logins, permissions."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kcli.broker.clock import Clock
from kcli.broker.configs import Configs
from kcli.broker.net.protocols import ENCRYPTED, LOGS_IN, PROTOCOLS, ListenerOptions
from kcli.broker.security.acls import ANONYMOUS, authorizer_of
from kcli.broker.security.login import Login, Logins, mechanisms_of
from kcli.broker.security.quotas import Quotas
from kcli.broker.security.scram import NAMES, credential_for
from kcli.broker.security.state import Row, SecurityState, scram_record
from kcli.errors import InputError, UsageError
from kcli.extras import require

CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


@dataclass(frozen=True, slots=True)
class Protection:
    """The protection of a broker, besides its configs. users: passwords by name.

    tls_cert, tls_key, tls_client_ca: files in PEM: the listeners' certificates and key (None: in the same file), and
    who signs clients' certificates; with these clients have to show one, unless `ssl.client.auth` says otherwise.
    tls: whether listeners have a certificate of a CA that is made for them.
    """

    users: Mapping[str, str] = field(default_factory=dict)
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_client_ca: str | None = None
    tls: bool = False


def default_listener(configs: Configs, protection: Protection) -> ListenerOptions:
    """Return the listener of a broker that was told of none: with TLS and logins where it can have them."""
    encrypted = ENCRYPTED if protection.tls or protection.tls_cert is not None else 0
    protocol = encrypted + (LOGS_IN if mechanisms_of(configs, protection.users) else 0)
    return ListenerOptions(PROTOCOLS[protocol], protocol)


class Security:
    """tls: what encrypted connections begin with, None: there are none; authorizer: None: everybody may do everything.

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
        self.ca_certificate = ""
        self.tls = self._listener_tls(configs, protection, host)
        names = mechanisms_of(configs, protection.users)
        self.logins = Logins(configs, protection.users, state.scram, clock) if names else None
        self.users = protection.users
        self.authorizer = authorizer_of(configs, state.acls)
        self.quotas = Quotas(configs, state.quotas, clock)
        self._check(listeners)

    def _check(self, listeners: Sequence[ListenerOptions]) -> None:
        """Refuse listeners that lack a certificate or users, and those of which no listener has a use."""
        for each in listeners:
            if each.is_encrypted and self.tls is None:
                raise UsageError(f"listener {each.name}: TLS needs a certificate: tls_cert is missing")
            if each.logs_in and self.logins is None:
                raise UsageError(f"listener {each.name}: nobody can log in: users are missing")
        if self.tls is not None and not any(each.is_encrypted for each in listeners):
            raise UsageError("a certificate is given, and no listener has TLS")
        if self.users and not any(each.logs_in for each in listeners):
            raise UsageError("users are given, and no listener has SASL")

    def _listener_tls(self, configs: Configs, protection: Protection, host: str) -> ssl.SSLContext | None:
        if protection.tls_cert is None and (protection.tls_key or (protection.tls_client_ca and not protection.tls)):
            raise UsageError("TLS needs a certificate: tls_cert is missing")
        if protection.tls_cert is not None or protection.tls:
            require("TLS with clients", "tls")
        if protection.tls_cert is not None:
            from kcli.broker.security.listener_tls import read_pair, server_context

            context = server_context(read_pair(protection.tls_cert, protection.tls_key), protection.tls_cert)
        elif protection.tls:
            from kcli.broker.security.listener_tls import made_authority, server_context

            authority = made_authority([host])
            self.ca_certificate = authority.certificate
            context = server_context(authority.pair, "the broker's own certificate")
        else:
            return None
        wanted = configs.static.get("ssl.client.auth", "required" if protection.tls_client_ca else "none")
        if protection.tls_client_ca is not None:
            try:
                context.load_verify_locations(cafile=protection.tls_client_ca)
            except ssl.SSLError as error:
                raise InputError(f"no certificates in PEM ({error.reason})", file=protection.tls_client_ca) from None
        elif wanted != "none":
            raise UsageError(f"ssl.client.auth={wanted}: tls_client_ca is missing")
        context.verify_mode = CLIENT_AUTH[wanted]
        return context

    def new_login(self, listener: ListenerOptions) -> Login | None:
        """Begin the login of a connection to a listener; None: nobody has to log in there."""
        return Login(self.logins) if self.logins is not None and listener.logs_in else None

    def first_credentials(self) -> list[Row]:
        """Make the records of the SCRAM credentials of the users that were given."""
        names = self.logins.names if self.logins is not None else ()
        numbers = [number for number, name in NAMES.items() if name in names]
        return [
            scram_record(user, number, credential_for(number, password))
            for user, password in self.users.items()
            for number in numbers
        ]


def certificate_name(certificate: bytes | None) -> str:
    """Return the principal of a client's certificate (DER), as Java's X500Principal names it; None: it showed none."""
    if not certificate:
        return ANONYMOUS
    from cryptography import x509

    return f"User:{x509.load_der_x509_certificate(certificate).subject.rfc4514_string()}"
