"""When to decide is one rule, `Loop.due`: the simulator asks it as the cluster does, and knows no other."""

import pytest

from phalanx.loop import Cycle, Loop
from phalanx.testing import run_text
from tests.oracles.room import ROOM

BUSY = """
    node   n1..n2  gpu=8
    pod    other   gpu=1 on=n1 scheduler=default-scheduler runtime=10m
    pod    low     gpu=7 on=n1 controlled
    pod    mid     gpu=8 priority=5 created=1m select:kubernetes.io/hostname=n1 runtime=1h
    pod    high    gpu=8 priority=9 created=70s runtime=2h
    gang   pair    members=2 gpu=1 created=3h runtime=10m
    fail   n2      at=5m for=10m
    """


def decided(monkeypatch: pytest.MonkeyPatch, given: str) -> list[tuple[float, str | None]]:
    """Run a scenario; return when it was decided, and what the one rule said of that moment."""
    found: list[tuple[float, str | None]] = []
    real = Loop.cycle

    def cycle(self: Loop, now: float, cause: str | None = None) -> Cycle:
        found.append((now, self.due(now)))
        return real(self, now, cause)

    monkeypatch.setattr(Loop, "cycle", cycle)
    run_text(given, ROOM, "4h")
    return found


def test_the_simulator_decides_when_the_rule_says_so_and_at_no_other_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found = decided(monkeypatch, BUSY)
    assert len(found) > 5
    assert [now for now, cause in found if cause is None] == []


def test_the_simulator_decides_nothing_when_the_rule_never_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Loop, "due", lambda *_: None)
    assert decided(monkeypatch, BUSY) == []


def test_a_plan_that_takes_a_promise_over_is_followed_by_another_without_an_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From 70 s on nothing happens until low is gone; who lost the promise has its turn a second later."""
    given = """
        node  n1..n2  gpu=8
        pod   low1    gpu=8 on=n1
        pod   low2    gpu=8 on=n2 priority=1
        pod   mid     gpu=8 priority=5 created=1m
        pod   high    gpu=8 priority=9 select:kubernetes.io/hostname=n1 created=70s
        """
    found = decided(monkeypatch, given)
    assert [now for now, _ in found][:4] == [0.0, 60.0, 70.0, 71.0]
