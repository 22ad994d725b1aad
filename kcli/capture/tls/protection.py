"""Keys for the next record of a direction: the current ones, those of the next epoch or, after a loss, the current ones
with a record number that has to be searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kcli.capture.tls.ciphers import AT_A_TIME, TLS_13, RecordCipher, cipher_of
from kcli.capture.tls.handshake import Handshake
from kcli.capture.tls.keylog import CLIENT_TRAFFIC, SERVER_TRAFFIC, Effort, KeyLog
from kcli.capture.tls.schedule import keys_of_master, keys_of_traffic, next_traffic_secret
from kcli.capture.tls.suites import Suite, suite_of

HANDSHAKE_LABELS = ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET")
TRAFFIC_LABELS = (CLIENT_TRAFFIC, SERVER_TRAFFIC)
SUITES_13 = (0x1302, 0x1301, 0x1303, 0x1304, 0x1305)  # the likeliest first


@dataclass(slots=True)
class Protection:
    """The keys of one direction and the number of its next record.

    secret: in TLS 1.3 the one from which a KeyUpdate derives the next; b"" before application data. updates: the number
    of KeyUpdates.
    """

    suite: Suite
    cipher: RecordCipher
    secret: bytes = b""
    number: int = 0
    updates: int = 0

    def open(self, header: bytes, payload: bytes) -> tuple[int, bytes] | None:
        """Decrypt the next record to (type, contents); None if that fails."""
        found = self.cipher.open(self.number, header, payload)
        if found is None:
            return None
        self.number += 1
        return found[0], bytes(found[1])

    def search(
        self, header: bytes, payload: bytes, numbers: range, effort: Effort, far: bool = False
    ) -> tuple[int, bytes] | None:
        """Decrypt a record with one of these numbers to (type, contents); None if that fails. far: there are many
        numbers, the record is of application data, and the cipher has to tell likely numbers.
        """
        for likely in self.cipher.likely(numbers, payload, far):
            if far and not effort.is_ample:
                return None
            effort.spend(AT_A_TIME)
            for number in likely:
                if not effort.spend(len(payload)):
                    return None
                found = self.cipher.open(number, header, payload)
                if found is not None:
                    self.number = number + 1
                    return found[0], bytes(found[1])
        return None

    def updated(self) -> Protection | None:
        """Return the protection after a KeyUpdate; None if the secret is unknown."""
        if not self.secret:
            return None
        made = of_traffic(self.suite, next_traffic_secret(self.suite, self.secret), True)
        made.updates = self.updates + 1
        return made


def of_traffic(suite: Suite, secret: bytes, updatable: bool) -> Protection:
    cipher = cipher_of(suite, TLS_13, keys_of_traffic(suite, secret))
    return Protection(suite, cipher, secret if updatable else b"")


def handshake_keys(agreed: Handshake, log: KeyLog, from_client: bool) -> Protection | None:
    """Return the keys for the rest of a TLS 1.3 handshake; None if the log lacks them."""
    return of_label(agreed, log, HANDSHAKE_LABELS[not from_client], False)


def application_keys(agreed: Handshake, log: KeyLog, from_client: bool) -> Protection | None:
    """Return the keys for data (in TLS 1.2 also Finished); None if the log lacks them, or kcli can't decrypt the
    suite.
    """
    if agreed.version == TLS_13:
        return of_label(agreed, log, TRAFFIC_LABELS[not from_client], True)
    ticket = b"" if agreed.certified else agreed.ticket
    master = log.master(agreed.client_random, agreed.session_id, ticket)
    return None if master is None else of_master(agreed, master, from_client)


def of_master(agreed: Handshake, master: bytes, from_client: bool) -> Protection | None:
    """Return the keys that a TLS 1.2 master secret gives; None for a suite that kcli can't decrypt."""
    suite = suite_of(agreed.suite)
    if suite is None:
        return None
    keys = keys_of_master(suite, master, agreed.client_random, agreed.server_random)
    cipher = cipher_of(suite, agreed.version, keys[not from_client], agreed.mac_outside)
    return Protection(suite, cipher)


def of_label(agreed: Handshake, log: KeyLog, label: str, updatable: bool) -> Protection | None:
    suite, secret = suite_of(agreed.suite), log.traffic(agreed.client_random).get(label)
    return None if suite is None or secret is None else of_traffic(suite, secret, updatable)


def guesses(agreed: Handshake, log: KeyLog, from_client: bool | None) -> Iterator[tuple[bytes, int, bool, Protection]]:
    """Yield the possible (client's random, suite, whether it is the client's direction, keys) of a TLS 1.3 direction
    without a captured handshake. from_client: None if unknown.
    """
    suites = [(number, suite) for number in SUITES_13 if (suite := suite_of(number)) is not None]
    for random, secrets in log.unused(agreed.client_random):
        for is_client in (True, False) if from_client is None else (from_client,):
            secret = secrets.get(TRAFFIC_LABELS[not is_client])
            for number, suite in suites:
                if secret is not None and len(secret) == (48 if suite.hash == "sha384" else 32):
                    if not log.effort.derive():
                        return
                    yield random, number, is_client, of_traffic(suite, secret, True)
