"""Acts on the trial of a connection. A connection that is proved to be Kafka's emits its held exchanges and events; the
bytes of any other are only counted.
"""

from kcli.capture.kafka.connection_state import ConnectionState
from kcli.capture.kafka.frames import FrameStream
from kcli.capture.kafka.pending import Pending
from kcli.grammar.request_start import PREFIX

UNPROVED = "nothing in it decodes to its last byte as Kafka's"


def judge(connection: ConnectionState, request: Pending) -> None:
    """Count a request as evidence for or against Kafka, and act on it."""
    if connection.trial is None:
        return
    connection.trial.see_request(request, connection.bodies)
    decide(connection)


def decide(connection: ConnectionState) -> None:
    """Act on the trial's verdict, if there is one."""
    if connection.trial is None or connection.foreign is not None:
        return
    if connection.trial.proved:
        prove(connection)
    elif connection.trial.fails(connection.searched):
        end_unproved(connection)


def prove(connection: ConnectionState) -> None:
    """Accept the connection as Kafka's: emit the held exchanges and events, and stop holding back."""
    if connection.trial is not None:
        held = connection.trial.release()
        connection.trial, connection.searched, connection.spoke = None, False, True
        for item in held:
            connection.emit(item)


def end_trial(connection: ConnectionState) -> None:
    """Reach a verdict at the end of the connection."""
    if connection.trial is None or connection.foreign is not None:
        return
    if connection.client is not None and connection.spoke:
        judge_rest(connection, connection.streams[connection.client])
    if connection.trial.convinces(connection.searched) or not any(stream.received for stream in connection.streams):
        prove(connection)
    else:
        end_unproved(connection)


def end_unproved(connection: ConnectionState) -> None:
    """Reject the connection. But accept it if its server is a known broker and a request has a client id, as then the
    client's requests are wrong.
    """
    assert connection.trial is not None
    if connection.to_broker and connection.trial.named and not connection.searched:
        prove(connection)
    else:
        refuse(connection, UNPROVED)


def judge_rest(connection: ConnectionState, stream: FrameStream) -> None:
    """Count the header of a request that is incomplete at the end."""
    head = stream.buffer[PREFIX : PREFIX + 4]
    if connection.trial is not None and stream.synced and len(head) == 4 and not stream.skip:
        key, version = (int.from_bytes(head[a : a + 2], "big", signed=True) for a in (0, 2))
        connection.trial.see_header(key, version, connection.bodies)


def contradict(connection: ConnectionState) -> None:
    """Count evidence against Kafka, unless bytes are missing from the capture."""
    if connection.trial is not None:
        connection.trial.see_contradiction()
        decide(connection)


def refuse(connection: ConnectionState, why: str) -> bool:
    """Reject the connection for this reason: drop its data, and only count bytes from now on. Return False."""
    connection.foreign = why
    if connection.trial is not None:
        connection.trial.release()
    connection.pending.clear()
    for stream in connection.streams:
        stream.foreign = stream.received
        stream.buffer.clear()
        stream.unsync()
    return False
