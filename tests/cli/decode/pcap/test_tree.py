"""The tree of whole exchanges."""

from kcli.capture.api import read_capture
from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.events import Event, Link
from kcli.capture.kafka.exchange import Exchange
from kcli.cli.decode.pcap import tree as pcap_tree
from kcli.cli.decode.slip_hints import SlipNamer, message_text
from tests.capture.messages import metadata
from tests.capture.wires import DATA, SAMPLES


def tree(item: Exchange | Event) -> list[str]:
    return list(pcap_tree.tree(item, SlipNamer(message_text)))


def test_each_field_has_its_bytes() -> None:
    lines = list(tree(next(read_capture(SAMPLES / "java44-txn.pcap").items())))
    assert lines[0].endswith("API_VERSIONS v5 request, correlation id 0, 53 bytes")
    assert lines[1] == "  0000  00 12                         requestApiKey          18  API_VERSIONS  (int16)"
    assert any("response after 0.91 ms, 880 bytes" in line for line in lines)
    assert any("apiKeys[0].maxVersion" in line for line in lines) and lines[-1] == ""


def test_the_wrong_byte_is_named() -> None:
    asked, answer = metadata(1)
    made = Exchange(Link("b:1", "c:2"), 0, asked[4:-3], 1, answer[4:20], Bodies())
    text = "\n".join(tree(made))
    assert "needs" in text and "left" in text
    short = Exchange(Link("b:1", "c:2"), 0, asked[4:], 1, answer[4:6], Bodies())
    assert "correlationId" in "\n".join(tree(short))


def test_the_likely_slip_is_named() -> None:
    asked, answer = (frame[4:] for frame in metadata(1))
    made = Exchange(Link("b:1", "c:2"), 0, asked, 1, answer[:4] + answer[5:], Bodies())
    (line,) = [line for line in tree(made) if "it reads to its end" in line]
    assert "with a header v1, which differs at 0x4: was v0 written?" in line
    made = Exchange(Link("b:1", "c:2"), 0, asked[:-1], 1, answer, Bodies())
    assert any("it reads to its end" in line or "needs" in line for line in tree(made))


def test_events_and_missing_responses() -> None:
    (line, empty) = tree(Event("gap", "a:1-b:2", 0, 4, 5, "lost"))
    assert line == "1970-01-01T00:00:00.000000Z a:1-b:2 gap: lost (5 bytes)" and empty == ""
    assert "no response" in tree(Exchange(Link("b:1", "c:2"), 0, metadata(1)[0][4:], None, None, Bodies()))


def test_every_exchange_has_a_tree() -> None:
    for name in (DATA / "java44-admin.pcap.gz", SAMPLES / "old-librdkafka-on-3.9.pcap"):
        for item in read_capture(name).items():
            lines = list(tree(item))
            assert len(lines) > 5 or isinstance(item, Event)
            assert not any("needs" in line and "left" in line for line in lines)


def test_of_versions_that_the_tables_lack_the_beginning_alone_is_shown() -> None:
    word = b"U3#wXq7~"
    for key, version in ((900, 1), (36, 40), (3, 99)):
        asked = key.to_bytes(2, "big") + version.to_bytes(2, "big") + b"\0\0\0\7\0\1t" + word
        made = Exchange(Link("b:1", "c:2"), 0, asked, 1, b"\0\0\0\7" + word, Bodies())
        text = "\n".join(tree(made))
        assert 'correlationId      7  (int32)\n  0008  00 01 74                      clientId           "t"' in text
        assert text.count("(redacted, 8 bytes)") == 2 and word[:4].hex(" ") not in text and "U3" not in text
        reasons = [*map(str, made.texts()), *(failure.reason for failure in made.failures)]
        assert not any(str(byte) in reason for byte in word[:2] for reason in reasons)
