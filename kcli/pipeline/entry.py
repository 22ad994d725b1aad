"""One run of the pipeline, as its output folder keeps it: the captures that it read, and the paths of its files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kcli.errors import InputError
from kcli.input_names import RUNS_FOLDER
from kcli.payloads.options import PayloadOptions
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.tables import FILED
from kcli.pipeline.writing import WrittenFile

COMPACTED = "compacted"  # in the stats of a run that only compacted files


@dataclass(slots=True)
class Entry:
    """One run.

    inputs: its captures; files: each with its path in the run's folder; "passing" files are replaced by the next run
    drop: published paths that this run replaces; carry: published paths with open connections for the next run
    redone: numbers of the runs that it replaces, after reading their captures again; forgotten: captures that must not
      be read any more
    """

    run: int
    folder: str
    inputs: list[dict[str, Any]] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    drop: list[str] = field(default_factory=list)
    carry: list[str] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)
    redone: list[int] = field(default_factory=list)
    forgotten: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Check the paths. Raises InputError if one leads out of the output folder, where files are moved and
        removed.
        """
        named = [path for where in self.files for path in (where["path"], where["table"], where["day"] or "")]
        if (self.run and not self.folder.startswith(f"{RUNS_FOLDER}/")) or not all(
            map(is_below, (self.folder, *self.drop, *self.carry, *named))
        ):
            raise InputError(f"the entry of run {self.run} names a file elsewhere")

    @property
    def clock(self) -> int:
        """Return the time (ns) up to which this run and those before it have read packets."""
        return int(self.stats["clock"])

    @property
    def options(self) -> dict[str, Any]:
        """Return arguments for `kcli.pipeline.context.Options`, with which its captures were read; {} for a run of an
        older kcli.
        """
        made = with_tuples(self.stats.get("options", {}))
        if made.get("payloads") is not None:
            made["payloads"] = PayloadOptions(**with_tuples(made["payloads"]))
        return made

    @property
    def sample(self) -> float | None:
        """Return the share of the connections that it has read; None for all."""
        found: float | None = self.stats.get("options", {}).get("sample")
        return found

    def add(self, written: Iterable[WrittenFile], *, passing: bool = False) -> None:
        """Add written files. passing: the next run replaces them."""
        for each in written:
            where = {"table": each.table, "day": each.day, "path": each.path, "rows": each.rows, "passing": passing}
            self.files.append(where)

    def keep(self, written: Sequence[WrittenFile]) -> None:
        """Add files with connections that are still open, for the next run."""
        self.add(written, passing=True)
        self.carry += [published(self.run, where) for where in self.files[len(self.files) - len(written) :]]

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as an object of the journal's JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of JSON with lists replaced by tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def is_below(path: str) -> bool:
    """Return whether a relative path stays below its folder."""
    return not path.startswith("/") and ".." not in path.split("/") and "://" not in path


def published(run: int, where: dict[str, Any]) -> str:
    """Return the path below the output folder to which a file of a run is moved."""
    name = where["path"].rpartition("/")[2]
    if where["table"] in FACTS:
        return f"{RUNS_FOLDER}/facts/{where['table']}/{run:08d}-{name}"
    if where["table"] not in FILED:
        return f"{RUNS_FOLDER}/carried/{run:08d}-{name}"
    day = f"date={where['day']}/" if where["day"] else ""
    return f"{where['table']}/{day}{run:08d}-{name}"
