from kcli.broker.rebuilt.addresses import Addresses

METADATA = {"brokers": [{"nodeId": 1, "host": "k1", "port": 9092}, {"nodeId": 2, "host": "::1", "port": 9094}]}


def test_who_listens_where() -> None:
    made = Addresses()
    made.take(3, {}, METADATA)
    made.take(62, {"brokerId": 5, "listeners": [{"name": "A", "host": "127.0.0.1", "port": 9096}]}, {})
    made.take(60, {}, {"brokers": [{"brokerId": 6, "host": "k6", "port": 9098}]})
    made.take(10, {}, {"errorCode": 15, "nodeId": -1, "host": "", "port": -1})
    made.take(10, {}, {"coordinators": [{"nodeId": 1, "host": "127.0.0.1", "port": 9192}]})
    made.take(1, {}, {"nodeEndpoints": [{"nodeId": 7, "host": "k7", "port": 9100}], "responses": []})
    assert made.nodes == {1, 2, 5, 6, 7}
    assert [made.node(each) for each in ("k1:9092", "[::1]:9094", "127.0.0.1:9096", "127.0.0.1:9192")] == [1, 2, 5, 1]
    assert made.concerns(3)
    assert not made.concerns(0x70)


def test_a_broker_that_goes_by_a_name_is_known_by_its_port() -> None:
    made = Addresses()
    made.take(3, {}, METADATA)
    assert made.node("10.0.0.7:9094") == 2
    assert made.node("10.0.0.7:1234") is None
    made.take(3, {}, {"brokers": [{"nodeId": 3, "host": "k3", "port": 9092}]})
    assert made.node("10.0.0.7:9092") is None


def test_the_only_broker_is_meant() -> None:
    made = Addresses()
    assert made.node("10.0.0.7:9092") is None
    made.take(3, {}, {"brokers": [{"nodeId": 3}]})
    assert made.node("10.0.0.7:9092") == 3
