"""Ratios of a bench's figures: which direction is good, what a figure is called, and the table of them all."""

from benchmarks.ratios import ratios, summary


def of(new: str, old: str) -> list[tuple[float, str, bool]]:
    return [(round(good, 2), row, other) for good, row, other in ratios("b", new.splitlines(), old.splitlines())]


def test_more_a_second_is_good_and_more_time_or_memory_is_not() -> None:
    assert of("kcli  200 MB  1,200 MB/s read in 2 s, 30 MiB", "kcli  200 MB  1,000 MB/s read in 1 s, 60 MiB") == [
        (1.2, "b kcli MB", False),
        (0.5, "b kcli read in", False),
        (2.0, "b kcli ,", False),
    ]


def test_a_unit_in_the_line_above() -> None:
    lines = "speeds of brokers (MB/s)\nkcli 9\n"
    assert of(lines, lines.replace("9", "10")) == [(0.9, "b speeds of brokers (MB/s) kcli", False)]


def test_figures_of_other_programs() -> None:
    (ours, theirs) = of("a 1 s   Java 5 s", "a 2 s   Java 4 s")
    assert ours[0] == 2
    assert not ours[2]
    assert theirs[0] == 0.8
    assert theirs[2]
    assert [row[2] for row in of("librdkafka kcli 3 MB/s", "librdkafka kcli 3 MB/s")] == [False]


def test_no_ratio_without_a_unit_or_a_line_like_it() -> None:
    assert of("3 topics\nnew 1 s", "4 topics\nold 1 s") == []


def test_the_lowest_is_first_and_said_last() -> None:
    found = ratios("b", ["a 1 s", "c 3 /s", "Java 1 s"], ["a 2 s", "c 4 /s", "Java 3 s"])
    assert list(summary(found)) == [
        " 0.75  b c",
        " 2.00  b a",
        "2 rows, lowest 0.75",
        "other programs, the same on both sides: 3.00 to 3.00",
    ]
    assert list(summary([])) == []
