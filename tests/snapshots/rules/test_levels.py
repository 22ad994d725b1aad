from kcli.schemas.catalog import catalog
from kcli.snapshots.rules.levels import NAMES, level_name, level_release


def test_levels_have_names_and_releases() -> None:
    assert level_name(7) == "3.3-IV3"
    assert level_name(30) == "4.3-IV0"
    assert level_name(999) == "999"
    assert (level_release(30), level_release(1), level_release(None), level_release(999)) == ("4.3", "3.0", None, None)


def test_levels_go_up_without_a_gap_and_with_the_releases() -> None:
    assert list(NAMES) == list(range(1, len(NAMES) + 1))
    order = [tuple(map(int, name.partition("-")[0].split("."))) for name in NAMES.values()]
    assert order == sorted(order)
    assert {str(level_release(level)) for level in NAMES} >= {each for each in catalog().releases if each >= "3.3"}
