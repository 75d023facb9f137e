"""The check before a plan is carried out: a plan that breaks a promise is refused, whatever decided it."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from phalanx.engine import invariants
from phalanx.engine.invariants import Violation
from phalanx.model.plan import Bind, Code, Evict, Nominate, Plan, Reason, Release, Step, Wait
from phalanx.model.task import Hold, State
from phalanx.testing.stage import Stage
from phalanx.world.gangs import gang_key
from tests.oracles.room import ROOM

HOLD = Hold("spec.schedulingGates", "waits for its gates")

CLUSTER = """
    node    n1       gpu=8 cpu=8
    node    n2       gpu=8 cpu=8
    node    dirty    gpu=8 cpu=8 taint:broken:NoSchedule
    node    full     gpu=8 cpu=8
    pod     low      gpu=8 on=full
    pod     web      cpu=1 port=80 on=n2
    pod     db1..db2 cpu=1 label:app=db on=n2 controlled
    budget  db       max-unavailable=1 label:app=db
    pod     kept     gpu=8 priority=5
    pod     theirs   gpu=8 priority=7 scheduler=default-scheduler
    pod     mine     gpu=8 priority=5
    pod     small    cpu=1
    pod     door     cpu=1 port=80
    gang    pair     members=2 cpu=1
    pod     gated    cpu=1
    """


@dataclass
class Case:
    """A cluster, and steps of plans for it: a name stands for its pod."""

    stage: Stage

    def bind(self, name: str, node: str) -> Bind:
        return Bind(*self._of(name, node))

    def nominate(self, name: str, node: str) -> Nominate:
        return Nominate(*self._of(name, node))

    def release(self, name: str, node: str) -> Release:
        return Release(*self._of(name, node), "no reason")

    def evict(self, name: str, node: str, whom: str = "mine") -> Evict:
        task = self.stage.pod(name)
        key = gang_key(self.stage.pod(whom)) if whom != "nobody" else f"Pod/{whom}"
        return Evict(task.full_name, task.uid, node, "preempt", f"default/{whom}", "", key, gang_key(task))

    def check(self, *steps: Step) -> None:
        invariants.check(self.stage.world.compile(0.0), ROOM, Plan(0.0, steps))

    def _of(self, name: str, node: str) -> tuple[str, str, str, str, str]:
        if name == "nobody":
            return ("default/nobody", "nobody", node, "default/nobody", "Pod/nobody")
        task = self.stage.pod(name)
        gang = task.membership.gang if task.membership else task.full_name
        return (task.full_name, task.uid, node, gang, gang_key(task))


@pytest.fixture
def case() -> Case:
    """Place n1 is promised to kept, and on n2 another scheduler has nominated somebody of priority 7."""
    stage = Stage(CLUSTER, ROOM)
    stage.change("kept", nominated="n1")
    stage.change("theirs", nominated="n2")
    return Case(stage)


def steps(case: Case, text: str) -> Sequence[Step]:
    """Read steps: `bind mine n1; evict low full`."""
    return [getattr(case, words[0])(*words[1:]) for words in map(str.split, text.split(";"))]


GOOD = [
    "bind kept n1",
    "bind small n1",
    "evict low full; nominate mine full",
    "release kept n1; bind mine n1",
    "release kept n1; bind mine n1; evict low full; nominate kept full",
    "evict db1 n2; bind small n1",
    "evict web n2; nominate door n2",
    "bind door n1",
    "bind pair-0 n1; bind pair-1 n2",
    "evict web n2; nominate web n1",
]

#: What a plan does, and the promise that it breaks.
BAD = {
    "evict low full; evict low full": "no task is evicted twice",
    "evict mine full": "only tasks of ours that run are evicted",
    "evict low n1": "a task is evicted where it runs",
    "evict low full nobody": "every beneficiary of an eviction is a gang that waits",
    "evict db1 n2; evict db2 n2": "no disruption budget is exceeded",
    "nominate mine nowhere": "every node of a nomination exists",
    "nominate nobody n1": "every nominated task was waiting",
    "nominate low n1": "every nominated task was waiting",
    "nominate small n1; nominate small n2": "no task is nominated twice, or bound as well",
    "nominate small n1; bind small n1": "no task is nominated twice, or bound as well",
    "nominate mine full": "every nominated place will be free, by every filter",
    "nominate mine dirty": "every nominated place will be free, by every filter",
    "nominate mine n1": "every nominated place will be free, by every filter",
    "nominate mine n2": "every nominated place will be free, by every filter",
    "nominate door n2": "every nominated place will be free, by every filter",
    "bind nobody n1": "every bound task was waiting",
    "bind low full": "every bound task was waiting",
    "bind mine nowhere": "every node of a bind exists",
    "bind small n1; bind small n2": "no task is bound twice",
    "bind small dirty": "every place of a bind is free, by every filter, and promised to nobody else",
    "bind door n2": "every place of a bind is free, by every filter, and promised to nobody else",
    "bind mine n1": "every place of a bind is free, by every filter, and promised to nobody else",
    "bind mine n2": "every place of a bind is free, by every filter, and promised to nobody else",
    "bind mine full": "every place of a bind is free, by every filter, and promised to nobody else",
    "evict low full; bind mine full": "every place of a bind is free, by every filter, and promised to nobody else",
    "evict web n2; bind door n2": "every place of a bind is free, by every filter, and promised to nobody else",
    "bind gated n1": "no task that must be held is bound",
    "bind pair-0 n1": "no gang is split below its minimum",
    "release mine n1": "only a nomination that is there is released, and once",
    "release kept n2": "only a nomination that is there is released, and once",
    "release kept n1; release kept n1": "only a nomination that is there is released, and once",
    "release nobody n1": "every released task was waiting",
    "evict web n2; nominate web dirty": "there will be a place for every task that is moved",
}


@pytest.mark.parametrize("text", GOOD)
def test_a_plan_that_keeps_every_promise_is_carried_out(case: Case, text: str) -> None:
    case.check(*steps(case, text))


@pytest.mark.parametrize(("text", "promise"), BAD.items(), ids=BAD)
def test_a_plan_that_breaks_a_promise_is_refused(case: Case, text: str, promise: str) -> None:
    case.stage.change("gated", hold=HOLD)
    with pytest.raises(Violation) as raised:
        case.check(*steps(case, text))
    assert raised.value.promise == promise


def test_a_port_is_bound_once_in_one_plan_too(case: Case) -> None:
    case.stage.change("small", shape=case.stage.pod("door").shape)
    with pytest.raises(Violation, match="by every filter"):
        case.check(*steps(case, "bind door n1; bind small n1"))


def test_the_gangs_that_are_to_blame_are_named_and_no_others(case: Case) -> None:
    with pytest.raises(Violation) as raised:
        case.check(*steps(case, "bind small n1; bind door n2; bind pair-0 n1; bind pair-1 n1"))
    assert raised.value.gangs == (gang_key(case.stage.pod("door")),)


def test_a_moved_pod_has_no_place_where_it_is_promised_to_another(case: Case) -> None:
    """Once kept has its eight GPUs of n1 there is none for low; if the promise is released, there is."""
    low = case.stage.pod("low")
    assert low.state is State.RUNNING
    with pytest.raises(Violation, match="place for every task that is moved"):
        case.check(*steps(case, "evict low full; nominate low n1"))
    case.check(*steps(case, "evict low full; nominate low n1; release kept n1"))


def test_a_plan_in_which_everybody_waits_costs_no_look_at_the_tables(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*_: object) -> None:
        raise AssertionError("the books are opened although nothing is decided")

    monkeypatch.setattr(invariants, "open_session", opened)
    monkeypatch.setattr(invariants, "_Rows", opened)
    case.check(Wait("default/mine", "Pod/mine", 1, Reason(Code.FULL, "0/4 nodes")))
