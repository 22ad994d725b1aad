"""The TLS contexts of a broker's listeners, which are replaced when the configs of their stores change.

As in Kafka (KIP-226) a change applies to new connections. It is refused if the stores are invalid, or if the
certificate is for another name.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kcli.broker.configs import RELOADED, Configs
from kcli.broker.net.protocols import ListenerOptions
from kcli.broker.security.listener_configs import ListenerConfigs
from kcli.errors import KcliError, UsageError
from kcli.extras import require
from kcli.records.acceptance import RefusedError
from kcli.schemas.defaults import boolean

if TYPE_CHECKING:
    from kcli.broker.security.protection import Protection
    from kcli.broker.security.stores import Pair

AUTH = "ssl.client.auth"
CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


class Tls(NamedTuple):
    """The TLS of a listener. pair: its key and certificate."""

    context: ssl.SSLContext
    pair: Pair


class ListenerContexts:
    """The TLS of the encrypted listeners. ca_certificate: of the CA that was made for them, in PEM, "" if none was.

    Raises UsageError if a listener lacks a certificate or no listener uses the given one, and InputError if a file
    can't be used.
    """

    def __init__(
        self, configs: Configs, protection: Protection, listeners: Sequence[ListenerOptions], host: str
    ) -> None:
        self._protection, self._listeners = protection, listeners
        self._common: Pair | None = None
        self._made: dict[str, Tls] = {}
        self.ca_certificate = ""
        if protection.tls_cert is None and (protection.tls_key or (protection.tls_client_ca and not protection.tls)):
            raise UsageError("TLS needs a certificate: tls_cert is missing")
        if listeners:
            require("TLS with clients", "tls")
            self._common = self._common_pair(host)
            self._made = {each.name: self._make(configs, each) for each in listeners}
        elif protection.tls or protection.tls_cert is not None:
            raise UsageError("a certificate is given, and no listener has TLS")

    def of(self, listener: str) -> ssl.SSLContext | None:
        """Return the TLS context for a listener's new connections, None if it has no TLS."""
        made = self._made.get(listener)
        return made.context if made is not None else None

    def renewed(self, configs: Configs, changed: Iterable[str]) -> dict[str, Tls]:
        """Make new TLS contexts for the listeners whose store configs have changed; return them by listener.

        Raises RefusedError if the stores are invalid, or the certificate is for another name.
        """
        made = {}
        for each in self._listeners:
            own, names = ListenerConfigs(configs, each.name), tuple(changed)
            if not any(name.startswith(own.prefix) and RELOADED.fullmatch(name, len(own.prefix)) for name in names):
                continue
            try:
                tls = made[each.name] = self._make(configs, each)
            except (KcliError, OSError) as error:
                raise RefusedError("INVALID_REQUEST", f"listener {each.name}: {error}") from None
            check_identity(own, self._made[each.name].pair, tls.pair)
        return made

    def take(self, renewed: Mapping[str, Tls]) -> None:
        """Use the contexts of `renewed` for new connections."""
        self._made.update(renewed)

    def _common_pair(self, host: str) -> Pair | None:
        """Return the key and certificate for listeners without their own; None if there is none."""
        from kcli.broker.security.listener_tls import made_authority, read_pair
        from kcli.broker.security.stores import Pair

        protection = self._protection
        if protection.tls_cert is not None:
            return Pair(read_pair(protection.tls_cert, protection.tls_key), None, protection.tls_cert)
        if not protection.tls:
            return None
        authority = made_authority([host])
        self.ca_certificate = authority.certificate
        return Pair(authority.pair, None, "the broker's own certificate")

    def _make(self, configs: Configs, listener: ListenerOptions) -> Tls:
        """Make the TLS of a listener by its configs. Raises UsageError if the certificate, or the CA of clients, is
        missing.
        """
        from kcli.broker.security.listener_tls import read_pair, server_context, trust
        from kcli.broker.security.stores import key_pair, trusted
        from kcli.client.tls import SUITES, set_suites, set_versions

        own, authority = ListenerConfigs(configs, listener.name), self._protection.tls_client_ca
        pair, wanted = key_pair(own) or self._common, client_auth(own, self._protection, listener)
        if pair is None:
            raise UsageError(f"listener {listener.name}: TLS needs a certificate: tls_cert is missing")
        context = server_context(pair.text, pair.name, password=pair.password)
        set_versions(context, split(own.text("ssl.enabled.protocols")))
        set_suites(context, split(own.text(SUITES)))
        authorities = trusted(own)
        if authorities is None and authority is not None:
            authorities = read_pair(authority, None), authority
        if authorities is not None:
            trust(context, *authorities)
        elif wanted != "none":
            raise UsageError(f"ssl.client.auth={wanted}: ssl.truststore.location or tls_client_ca is missing")
        context.verify_mode = CLIENT_AUTH[wanted]
        return Tls(context, pair)


def split(names: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, names.split(","))))


def client_auth(configs: ListenerConfigs, protection: Protection, listener: ListenerOptions) -> str:
    """Return the value of ssl.client.auth for a listener.

    As in Kafka, a listener with SASL ignores the value for all listeners, unless there is a CA of clients.
    """
    if own := configs.own(AUTH):
        return own
    if protection.tls_client_ca is not None:
        return configs.value(AUTH) or "required"
    return "none" if listener.logs_in else configs.text(AUTH)


def check_identity(configs: ListenerConfigs, former: Pair, new: Pair) -> None:
    """Refuse a certificate of another name or for other hosts, unless the configs allow it. Raises RefusedError."""
    from kcli.broker.security.listener_tls import identity

    (was, hosts), (name, others) = identity(former.text), identity(new.text)
    if name != was and not boolean(configs.text("ssl.allow.dn.changes")):
        problem = f"the new certificate is of {name}, that in use of {was} (ssl.allow.dn.changes=true takes it)"
        raise RefusedError("INVALID_REQUEST", problem)
    if not hosts <= others and not boolean(configs.text("ssl.allow.san.changes")):
        lost = ", ".join(sorted(hosts - others))
        problem = f"the new certificate is not for {lost}, as that in use is (ssl.allow.san.changes=true takes it)"
        raise RefusedError("INVALID_REQUEST", problem)
