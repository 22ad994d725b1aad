"""The choice of records that `kcli records` shows."""

from collections.abc import Iterator
from typing import Any

from kcli.capture.kafka.record_fields import MOST_TOPICS
from kcli.capture.name_choice import matches
from kcli.cli.options.filter import words_of
from kcli.cli.records.sources import RecordGroup
from kcli.counting import few_of
from kcli.records.rows import SeenOffsets

Row = dict[str, Any]


class RecordChoice:
    """The choice of records, how many were chosen, and the topics met."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.topic, self.partition, self.key = options["topic"], options["partition"], options["key"]
        self.control, self.seen = options["control"], SeenOffsets() if options["distinct"] else None
        kinds = (self.topic, self.partition, self.key)
        self.has_conditions = any(each is not None for each in kinds) or bool(words_of(options))
        self.count = 0
        self.topics: dict[str, None] = {}

    @property
    def is_by_place(self) -> bool:
        """Return whether topic and partition alone decide if a record is wanted, unless it is a control record."""
        return self.key is None and self.seen is None and not self.control

    def wanted(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Yield the rows that pass."""
        for row in rows:
            if row["topic"] is not None and len(self.topics) < MOST_TOPICS:
                self.topics[row["topic"]] = None
            if self.matches(row):
                self.count += 1
                yield row

    def matches(self, row: Row) -> bool:
        """Return whether a record passes."""
        if (self.topic is not None and not matches(row["topic"], self.topic)) or (
            "_control" in row and not self.control
        ):
            return False
        if self.partition is not None and row["partition"] != self.partition:
            return False
        if self.key is not None and row["key"] != self.key:
            return False
        if self.seen is None or row["offset"] is None or row["topic"] is None:
            return True
        return self.seen.add((row["topic"], row["partition"]), row["offset"])

    def wants_group(self, group: RecordGroup) -> bool:
        """Return whether a group's records pass, where they are chosen by their place."""
        return self.matches(group.place)

    def note(self, group: RecordGroup, records: int) -> None:
        """Note records of a group that passed."""
        if records and len(self.topics) < MOST_TOPICS:
            self.topics[group.place["topic"]] = None
        self.count += records

    def occurring(self) -> str:
        """Return a text on the topics and partitions that do exist."""
        if not self.topics:
            return "no records were read"
        return f"topics here: {few_of([*self.topics])}"
