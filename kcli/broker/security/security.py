"""The security of a broker: the TLS and logins of its listeners, principals, permissions and quotas."""

from collections.abc import Sequence

from kcli.broker.clock import Clock
from kcli.broker.configs import Configs
from kcli.broker.net.protocols import ListenerOptions
from kcli.broker.security.acls import ANONYMOUS, authorizer_of
from kcli.broker.security.listener_configs import ListenerConfigs
from kcli.broker.security.listener_contexts import ListenerContexts
from kcli.broker.security.login import Login, Logins, mechanisms_of
from kcli.broker.security.principal_rules import read_rules, user_of
from kcli.broker.security.protection import Protection
from kcli.broker.security.quotas import Quotas
from kcli.broker.security.scram import NAMES, credential_for
from kcli.broker.security.security_state import Row, SecurityState, scram_record
from kcli.errors import UsageError

MAPPING = "ssl.principal.mapping.rules"


class Security:
    """The security of a broker. tls: of the encrypted listeners; logins: by listener, of those with SASL; authorizer:
    None if every client may do everything. Raises UsageError for invalid options, and InputError for invalid files.
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
        self.tls = ListenerContexts(configs, protection, encrypted, host)
        self._rules = {
            each.name: read_rules(ListenerConfigs(configs, each.name).text(MAPPING))
            for each in encrypted
            if not each.logs_in
        }

    def new_login(self, listener: ListenerOptions) -> Login | None:
        """Begin the login of a connection to a listener; None if the listener has no SASL."""
        logins = self.logins.get(listener.name)
        return Login(logins) if logins is not None else None

    def principal(self, listener: str, certificate: bytes | None) -> str:
        """Return the principal of a listener's client by its certificate (DER, None if it presented none). With SASL it
        is anonymous until the login. Names have the form of Java's X500Principal.

        Raises UsageError if no rule of the listener matches the name.
        """
        rules = self._rules.get(listener)
        if not certificate or rules is None:
            return ANONYMOUS
        from cryptography import x509

        name = x509.load_der_x509_certificate(certificate).subject.rfc4514_string()
        user = user_of(rules, name)
        if user is None:
            raise UsageError(f"no rule of {MAPPING} makes a user of {name}")
        return f"User:{user}"

    def first_credentials(self) -> list[Row]:
        """Return the metadata records of the SCRAM credentials for `Protection.users`, in the enabled mechanisms."""
        names = {name for each in self.logins.values() for name in each.names}
        numbers = [number for number, name in NAMES.items() if name in names]
        return [
            scram_record(user, number, credential_for(number, password))
            for user, password in self.users.items()
            for number in numbers
        ]
