"""Scenario checks: given a cluster as text, expect a whole plan as text, so that no step goes unnoticed."""

import re
from collections.abc import Iterator, Sequence
from difflib import ndiff
from textwrap import dedent

from phalanx.engine.policy import Policy
from phalanx.loop import Loop
from phalanx.model.events import NodeSeen, TaskSeen
from phalanx.model.plan import Plan
from phalanx.policy.load import load_policy, parse_policy
from phalanx.sim.cycles import play
from phalanx.sim.duration import seconds, written
from phalanx.sim.lines import ScenarioError
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import FOREVER, Simulator
from phalanx.sim.timeline import Arrive, timeline
from phalanx.world.world import World

#: The default policy, but nobody is evicted.
ALLOCATE = parse_policy("{extends: default, actions: [{name: allocate}]}", "allocate")
_DEFAULT_NAMESPACE = re.compile(r"(?<![\w./-])default/")


def check(given: str, expect: str, policy: str | Policy = "default", now: str | None = None, cycles: int = 1) -> None:
    """Assert that a scenario gives this plan: one line per step, in the order of decision.

    The namespace `default/` is left out. A line of `expect` may end with … to accept any rest. With several
    cycles, a line `cycle 2` stands before the second one's steps, and so on.
    """
    __tracebackhide__ = True
    made = list(_plans(given, policy, now, cycles))
    _compare([line for number, one in enumerate(made) for line in _cycle(number, one)], expect)


def check_run(given: str, expect: str, policy: str | Policy = "default", until: str | None = None) -> None:
    """Assert what is decided while a scenario runs on the simulator: `at 5m` before the steps of each instant."""
    __tracebackhide__ = True
    _compare(run_text(given, policy, until).splitlines(), expect)


def plan(given: str, policy: str | Policy = "default", now: str | None = None, cycles: int = 1) -> Plan:
    """Return the plan for a scenario; of several cycles, the last one's.

    `now` is a duration since time zero: pods that are created later do not exist yet. Default: all are there.
    """
    return list(_plans(given, policy, now, cycles))[-1]


def run_text(given: str, policy: str | Policy = "default", until: str | None = None) -> str:
    """Return everything that is decided while a scenario runs on the simulator, instant by instant."""
    chosen = _policy(policy)
    laid_out = timeline(read_scenario(dedent(given)), schedulers=chosen.scheduler_names)
    simulator = Simulator(laid_out, chosen)
    lines: list[str] = []
    for moment in simulator.run(FOREVER if until is None else seconds(until)):
        if moment.plan is not None and moment.plan.steps:
            lines += [f"at {written(moment.now)}", *_text(moment.plan)]
    return "\n".join(lines)


def _plans(given: str, policy: str | Policy, now: str | None, cycles: int) -> Iterator[Plan]:
    chosen = _policy(policy)
    laid_out = timeline(read_scenario(dedent(given)), schedulers=chosen.scheduler_names)
    arrivals = [(at, one.task) for at, one in laid_out.happenings if isinstance(one, Arrive)]
    if len(arrivals) < len(laid_out.happenings):
        raise ScenarioError(
            "scenario: fail, scale and until happen over time, allowed here are node, queue, budget, gang and pod"
        )
    moment = max((at for at, _ in arrivals), default=0.0) if now is None else seconds(now)
    world = World(chosen.label_keys, chosen.devices)
    for node in laid_out.nodes:
        world.apply(NodeSeen(node))
    for event in laid_out.others:
        world.apply(event)
    for at, task in arrivals:
        if at <= moment:
            world.apply(TaskSeen(task))
    return play(Loop(world, chosen), moment, cycles)


def _policy(policy: str | Policy) -> Policy:
    return load_policy(policy) if isinstance(policy, str) else policy


def _cycle(number: int, one: Plan) -> list[str]:
    return [*([f"cycle {number + 1}"] if number else []), *_text(one)]


def _text(one: Plan) -> list[str]:
    return _DEFAULT_NAMESPACE.sub("", one.text()).splitlines()


def compare(plan: Plan, expect: str) -> None:
    """Assert that a plan has these steps, as `check` does."""
    __tracebackhide__ = True
    _compare(_text(plan), expect)


def _compare(found: Sequence[str], expect: str) -> None:
    """Raise an AssertionError with a readable difference."""
    __tracebackhide__ = True
    expected = [" ".join(line.split()) for line in expect.splitlines() if line.strip()]
    masked = [_masked(line, expected) for line in found]
    if masked != expected:
        difference = "\n".join(line for line in ndiff(expected, masked) if not line.startswith("?"))
        raise AssertionError(f"the plan is another one (- expected, + found):\n{difference}")


def _masked(line: str, expected: Sequence[str]) -> str:
    """Return the expected line that this one satisfies, or the line itself."""
    if line in expected:
        return line
    return next((one for one in expected if one.endswith("…") and line.startswith(one[:-1].rstrip())), line)
