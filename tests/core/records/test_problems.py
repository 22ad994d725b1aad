from kcli.core.records.problems import REASONS


def test_every_code_has_a_reason_that_its_figures_fit_in() -> None:
    assert sorted(REASONS) == list(range(1, 21))
    assert all(reason.format(says=1, here=2) for _, reason in REASONS.values())
