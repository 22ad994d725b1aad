"""Configs of one listener, which override the broker's if they have the prefix `listener.name.NAME.`.

Configs of one of its SASL mechanisms also have the mechanism's name in the prefix
(`listener.name.inside.plain.sasl.jaas.config`). Names of listeners and mechanisms are in lower case.
"""

from typing import Self

from kcli.broker.configs import BROKER, DEFAULT, JAAS, Configs
from kcli.client.jaas import LoginModule, parse_jaas


class ListenerConfigs:
    """The effective configs of a listener. mechanism: a SASL mechanism whose configs come first, "" for none."""

    def __init__(self, configs: Configs, listener: str, mechanism: str = "") -> None:
        self._configs, self._listener = configs, listener
        self.prefix = f"listener.name.{listener.lower()}."
        self._places: tuple[str, ...] = (self.prefix, "")
        if mechanism:
            self._places = (f"{self.prefix}{mechanism.lower()}.", *self._places)

    def of_mechanism(self, name: str) -> Self:
        """Return the effective configs of one of the listener's SASL mechanisms."""
        return type(self)(self._configs, self._listener, name)

    def own(self, name: str) -> str | None:
        """Return the value that was set for this listener only, None if none was."""
        return next((found for place in self._places[:-1] if (found := self._value(place + name)) is not None), None)

    def value(self, name: str) -> str | None:
        """Return the value that was set for this listener or for all, None if only the default applies."""
        found = self.own(name)
        return self._value(name) if found is None else found

    def text(self, name: str) -> str:
        """Return the value of a config as text, "" for null."""
        found = self.value(name)
        return BROKER[name].default or "" if found is None else found

    def jaas(self, mechanism: str) -> LoginModule | None:
        """Return the login module of one of the listener's SASL mechanisms, None if it has none.

        Raises UsageError if it can't be parsed.
        """
        text = self._value(f"{self.prefix}{mechanism.lower()}.{JAAS}")
        return None if text is None else parse_jaas(text)

    def int(self, name: str) -> int:
        """Return the value of a config with a whole number."""
        return int(self.text(name))

    def _value(self, name: str) -> str | None:
        values = self._configs.values(name)
        return next((each.text for each in values if each.name == name and each.source != DEFAULT), None)
