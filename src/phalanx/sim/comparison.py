"""A comparison: the same workload under several policies, and what each was worth to each class of work."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

from phalanx.sim.classes import ClassRun, class_runs, in_order
from phalanx.sim.report import Report, report
from phalanx.sim.simulator import Simulator

#: A day has a point for each quarter of an hour: lines of several policies in one drawing can still be followed.
POINTS = 96


@dataclass(frozen=True, slots=True)
class Run:
    """One of the runs that are compared."""

    #: What its policy is called here, in short.
    name: str
    report: Report
    classes: tuple[ClassRun, ...]

    @property
    def taken(self) -> int:
        """Return how many pods had to leave, and wait again."""
        return sum(one.taken for one in self.classes)

    @property
    def moved(self) -> int:
        """Return how many pods had to leave for another place that was there for them."""
        return sum(one.moved for one in self.classes)

    @property
    def hours_lost(self) -> float:
        """Return the device hours of work that has to be done again."""
        return sum(one.hours_lost for one in self.classes)

    def of(self, name: str) -> ClassRun | None:
        """Return the class of this name, if there was any of it."""
        return next((one for one in self.classes if one.name == name), None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs of one workload."""

    scenario: str
    #: What a class is: `queue`, `priority` or `label:KEY`.
    by: str
    runs: tuple[Run, ...]

    @property
    def classes(self) -> list[str]:
        """Return the names of all classes."""
        return in_order({one.name for run in self.runs for one in run.classes}, self.by)

    @property
    def interrupted(self) -> bool:
        """Tell whether one of the runs did not come to its end."""
        return any(run.report.interrupted for run in self.runs)

    def json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        runs = [
            {"name": run.name, **run.report.json(), "classes": [asdict(one) for one in run.classes]}
            for run in self.runs
        ]
        return {"scenario": self.scenario, "by": self.by, "runs": runs}


def compared(name: str, simulator: Simulator, by: str, *, interrupted: bool = False) -> Run:
    """Return what a run was worth, as one of several."""
    return Run(name, report(simulator, interrupted=interrupted, points=POINTS), class_runs(simulator, by))


def run_names(policies: Sequence[str]) -> list[str]:
    """Return what policies are called beside each other: files without their folders, where that tells them apart."""
    stems = [PurePath(policy).name.removesuffix(".yaml") or policy for policy in policies]
    counts = Counter(stems)
    return [stem if counts[stem] == 1 else policy for stem, policy in zip(stems, policies, strict=True)]
