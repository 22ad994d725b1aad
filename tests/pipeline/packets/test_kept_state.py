"""Open connections in files of the tasks that had them, read by the tasks that go on with them."""

import ipaddress
import pickle
import struct
from pathlib import Path

import pytest

from kcli.core.capture.packet_shuffle import hash_of, share_of
from kcli.errors import InputError
from kcli.pipeline.packets.kept_state import Kept, of_shares, pack, unpack, write
from kcli.pipeline.packets.open_connections import Carried

ENDS = 40  # bytes


def flows(count: int) -> list[Carried]:
    """Connections of which nothing but their packets is known."""
    return [(number.to_bytes(ENDS, "little"), 0, number, False, None, (), None, None) for number in range(count)]


def saved(folder: Path, among: list[Carried], shares: int) -> Kept:
    """What the tasks of a run with so many shares have written of these."""
    names = []
    for share in range(shares):
        mine = [each for each in among if share_of(each[0], shares) == share]
        for made in write(str(folder), f"{share:04d}-ab", mine):
            (folder / made.path).rename(folder / f"00000007-{made.path}")  # as it is published
            names.append(str(folder / f"00000007-{made.path}"))
            assert made.rows == len(mine)
    return Kept(tuple(names))


@pytest.mark.parametrize(("before", "after"), [(1, 1), (4, 4), (4, 3), (2, 8)])
def test_each_share_goes_on_with_its_own(before: int, after: int, tmp_path: Path) -> None:
    among = flows(60)
    parts = of_shares(saved(tmp_path, among, before), before, after)
    assert [each.share for each in parts] == [*range(after)]
    for each in parts:
        assert sorted(each.read()) == [flow for flow in among if share_of(flow[0], after) == each.share]
    assert max(len(each.uris) for each in parts) == (1 if before == after else before)


def test_one_connection_apart(tmp_path: Path) -> None:
    among = flows(9)
    (file,) = saved(tmp_path, among, 1).uris
    heavy = hash_of(among[4][0])
    assert Kept((file,), alone=heavy).read() == [among[4]]
    assert Kept((file,), without=heavy).read() == [*among[:4], *among[5:]]


def test_no_connection_is_no_file(tmp_path: Path) -> None:
    assert write(str(tmp_path), "0000-ab", []) == [] == [*tmp_path.iterdir()]


@pytest.mark.parametrize("ends", [("10.1.2.3:40000", "10.0.0.2:9092"), ("[fe80::1]:40000", "[::1]:9092")])
def test_connections_are_named_before_they_are_known_to_be_kafka_s(ends: tuple[str, str], tmp_path: Path) -> None:
    """As the core names them later, whichever end is the server; also those in the one file of an older kcli."""
    numbers: list[int] = []
    ports, version = [], 4
    for end in ends:
        host, _, port = end.rpartition(":")
        address = ipaddress.ip_address(host.strip("[]"))
        numbers += divmod(int(address), 1 << 64)
        ports.append(int(port))
        version = address.version
    among = [(struct.pack("=4Q4H", *numbers, *ports, version, 0), *flows(1)[0][1:])]
    assert saved(tmp_path, among, 1).connections() == {"-".join(ends)}
    (tmp_path / "00000003-under-way").write_bytes(pack(among))
    assert Kept((str(tmp_path / "00000003-under-way"),)).connections() == {"-".join(ends)}


def test_the_one_file_of_an_older_kcli(tmp_path: Path) -> None:
    """It holds the connections of all shares, and its run does not say how many shares there were."""
    among = flows(20)
    path = tmp_path / "00000003-under-way"
    path.write_bytes(pack(among))
    found = [flow for each in of_shares(Kept((str(path),)), None, 3) for flow in each.read()]
    assert sorted(found) == among


def test_damaged_files(tmp_path: Path) -> None:
    (file,) = saved(tmp_path, flows(3), 1).uris
    Path(file).write_bytes(Path(file).read_bytes()[:-20])
    with pytest.raises(InputError, match="not what kcli pipeline kept"):
        Kept((file,)).read()


def test_what_is_kept_can_name_no_code() -> None:
    with pytest.raises(InputError, match=r"it names pathlib"):
        unpack(pickle.dumps([Path("x")]))
    with pytest.raises(InputError, match="not what kcli pipeline kept"):
        unpack(b"\x80garbage")
    assert unpack(pack([(b"ends", None)])) == [(b"ends", None)]
