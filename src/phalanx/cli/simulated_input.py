"""What `phalanx simulate` reads: a scenario or manifests, once, however many policies it is run under."""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from phalanx.cli.output import Mistake, complain
from phalanx.model.ours import Ours
from phalanx.sim.from_manifests import MANIFEST_SUFFIXES, timeline_of_manifests
from phalanx.sim.lines import Scenario, ScenarioError
from phalanx.sim.scenario import read_scenario
from phalanx.sim.timeline import Timeline, timeline
from phalanx.sim.traces.read import Trace, TraceWish, read_trace
from phalanx.sim.traces.rows import TraceError

#: How YAML and JSON of Kubernetes begin, and no line of a scenario does.
_MANIFEST = re.compile(r"(?:\s|#[^\n]*\n|---)*(?:\{|apiVersion:|kind:|metadata:|items:)")
_AS_FILES = "they are simulated from a .yaml or .json file, or from a directory of them"


@dataclass(slots=True)
class Workload:
    """Whatever the user named, laid out in time for the scheduler names of a policy."""

    source: str
    seed: int
    trace: TraceWish | None = None
    _trace: Trace | None = None
    _scenario: Scenario | None = None
    _laid_out: dict[Ours, Timeline] = field(default_factory=dict[Ours, Timeline])

    def for_schedulers(self, schedulers: Ours) -> Timeline:
        """Return the timeline; what is wrong with manifests is told once."""
        if schedulers not in self._laid_out:
            self._laid_out[schedulers] = self._checked(self._read(schedulers))
        return self._laid_out[schedulers]

    def _checked(self, laid_out: Timeline) -> Timeline:
        if not laid_out.nodes:
            raise Mistake(f"{self.source}: nothing to simulate: there is no node")
        if not laid_out.happenings:
            raise Mistake(f"{self.source}: nothing to simulate: there is no gang and no pod")
        return laid_out

    def _read(self, schedulers: Ours) -> Timeline:
        if self.trace is not None:
            return self._drawn(self.trace, schedulers.names)
        path = Path(self.source)
        if self.source.endswith(MANIFEST_SUFFIXES) or path.is_dir():
            laid_out, problems = timeline_of_manifests(self.source, schedulers)
            if problems and not (laid_out.nodes or laid_out.happenings):
                raise Mistake("\n".join(problems))
            complain("\n".join(problems))
            return laid_out
        try:
            if self._scenario is None:
                text = sys.stdin.read() if self.source == "-" else path.read_text("utf-8")
                if _MANIFEST.match(text):
                    found = "standard input" if self.source == "-" else self.source
                    raise Mistake(f"{found}: found Kubernetes manifests; {_AS_FILES}")
                self._scenario = read_scenario(text, self.source)
            return timeline(self._scenario, self.seed, schedulers.names)
        except OSError as error:
            raise Mistake(f"{self.source}: {(error.strerror or str(error)).lower()}") from None
        except UnicodeDecodeError:
            raise Mistake(f"{self.source}: not UTF-8 text, allowed is a scenario (see docs/scenario.md)") from None
        except ScenarioError as error:
            raise Mistake(str(error)) from None

    def _drawn(self, wish: TraceWish, schedulers: tuple[str, ...]) -> Timeline:
        try:
            if self._trace is None:
                self._trace = read_trace(wish)
            return timeline(self._trace.scenario(self.seed), self.seed, schedulers)
        except (TraceError, ScenarioError) as error:
            raise Mistake(str(error)) from None
