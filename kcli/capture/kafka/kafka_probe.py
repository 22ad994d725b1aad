"""Decides whether a connection is Kafka's at all. The rules:

- The exchanges and events of a connection are held back until it is proved to be Kafka's: by a request and its response
  that both decode to their last bytes, or by requests that do, if they outnumber the evidence against by at least two.
  What the snapshot length cuts off counts as decoded if the request has a version of the tables, and the response its
  correlation id. Then nothing is held back any more.
- Evidence against are complete messages of known versions that do not decode, responses without a request, and
  impossible lengths; the latter two only count if nothing is missing from the capture. With too much evidence, the
  connection is not Kafka's.
- Signs for it are requests in versions beyond the tables, requests cut short by a loss or the capture's end, and a
  single request that decodes. At its end a connection is Kafka's if there is a sign for it and no evidence against it,
  or if its first request decodes.
- If its server is known to be a broker, a request with its client's id is enough.
"""

from typing import Any

from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.pending import Pending
from kcli.grammar.request_start import PREFIX, client_id_of

MOST_AGAINST = 16
ENOUGH_SIGNS = 16
NEWER = 10  # versions beyond the tables for which a header alone counts as a sign
ITEM_SIZE = 64  # bytes of memory counted for a held exchange or event besides its frames


class Trial:
    """Counts the evidence for and against Kafka, and holds back exchanges and events. size: bytes of memory counted for
    these.
    """

    def __init__(self, state: tuple[int, int, int, bool, bool] = (0, 0, 0, False, False)) -> None:
        """Begin or resume a trial. state: the value of the property `state`."""
        self.fits, self.signs, self.against, self.lossy, self.began_well = state
        self.named = False  # a request of a known version that does not decode has a client id
        self.held: list[Exchange | Event] = []
        self.size = 0

    @property
    def state(self) -> tuple[int, int, int, bool, bool]:
        """(fits, signs, contradictions, whether bytes are missing, whether the first request decodes)."""
        return self.fits, self.signs, self.against, self.lossy, self.began_well

    def hold(self, item: Exchange | Event) -> None:
        """Hold an exchange or event back."""
        self.held.append(item)
        self.size += ITEM_SIZE
        if isinstance(item, Exchange):
            frames = item.request_frame, item.response_frame
            self.size += sum(len(frame) + PREFIX for frame in frames if frame is not None)

    def release(self) -> list[Exchange | Event]:
        """Return the exchanges and events that were held back, in order, and forget them."""
        held, self.held, self.size = self.held, [], 0
        return held

    def see_request(self, request: Pending, bodies: Bodies) -> None:
        """Count a request as evidence, by its header and whether it decodes to its last byte."""
        if request.frame is None or request.cut is not None:
            self.see_header(request.api_key, request.api_version, bodies)
        elif bodies.request_fits(request.frame):
            self.began_well = self.began_well or not (self.fits or self.signs or self.against)
            self.fits += 1
        elif bodies.knows(request.api_key, request.api_version):
            self.against += 1
            self.named = self.named or names_client(request.frame)
        else:
            self.signs += names_client(request.frame)

    def see_header(self, api_key: int, version: int, bodies: Bodies) -> None:
        """Count the header of a partial request as evidence."""
        api = bodies.api(api_key)
        self.signs += api is not None and 0 <= version <= api.versions.hi + NEWER

    def see_response(self, request: Pending, frame: bytes, bodies: Bodies) -> bool:
        """Count a response; return whether it and its request prove the connection to be Kafka's."""
        if not bodies.knows(request.api_key, request.api_version):
            self.signs += 1
            return False
        fits = bodies.response_fits(frame, request.api_key, request.api_version)
        self.against += not fits
        return fits and (request.cut is not None or bodies.request_fits(request.frame or b""))

    def see_contradiction(self) -> None:
        """Count evidence against Kafka, unless bytes are missing."""
        self.against += not self.lossy

    @property
    def proved(self) -> bool:
        """True if the counts prove that the connection is Kafka's."""
        return self.fits >= 2 + self.against or (self.signs >= ENOUGH_SIGNS and not self.against)

    def convinces(self, searched: bool) -> bool:
        """Return the verdict at the end. searched: the first request was searched for in mid-stream."""
        if self.proved or (self.began_well and not searched):
            return True
        return not self.against and bool(self.fits or self.signs)

    def fails(self, searched: bool) -> bool:
        """Return whether the evidence against Kafka is too strong to go on."""
        return self.against >= MOST_AGAINST and not self.convinces(searched)


def names_client(frame: Any) -> bool:
    """Return whether a request that does not decode has a printable client id."""
    found = client_id_of(frame)
    try:
        return found is not None and found != b"" and str(found, "utf-8").isprintable()
    except UnicodeDecodeError:
        return False
