from tests.oracle.records.both import damaged, inputs


def test_the_inputs_are_varied() -> None:
    assert len(inputs()) > 150 and len(set(damaged(1, 50))) > 45
