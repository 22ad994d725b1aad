from kcli.sessions.fetch_paths import new_kernel
from kcli.sessions.offsets import Offsets

UUID = "UN81GBVGSGmhiqBEPXpYyw"


def test_names_and_offsets_are_heard_of() -> None:
    offsets = Offsets(new_kernel().marks)
    offsets.hear(3, {"topics": [{"topicId": UUID, "name": "orders"}, {"topicId": "A" * 22, "name": "old"}]})
    assert offsets.names == {UUID: "orders"}
    offsets.hear(2, {"topics": [{"name": "orders", "partitions": [{"partitionIndex": 1, "offset": 40}]}]})
    assert offsets.explains((UUID, 1), 40, 0) and not offsets.explains((UUID, 1), 41, 0)
    old = {"topics": [{"name": "orders", "partitions": [{"partitionIndex": 1, "oldStyleOffsets": [3, 50]}]}]}
    offsets.hear(2, old)
    assert offsets.explains(("orders", 1), 50, 0)
    part = {"partitionIndex": 2, "committedOffset": 7}
    offsets.hear(9, {"groups": [{"topics": [{"topicId": UUID, "partitions": [part]}]}]})
    assert offsets.explains((UUID, 2), 7, 0) and not offsets.explains((UUID, 3), 1, 0)


def test_what_is_missing_may_explain_anything_that_came_later() -> None:
    offsets = Offsets(new_kernel().marks)
    assert not offsets.explains(("a", 0), 1, 100)
    offsets.miss(150)
    assert offsets.explains(("a", 0), 1, 100) and not offsets.explains(("a", 0), 1, 151)
