"""A device that vanishes from a plain count: nothing is given twice, and the node is told, once."""

from typing import Any

from phalanx.kube.short_devices import GRACE, ShortDevices
from phalanx.testing.scenario import check
from phalanx.testing.stage import Stage

GPU = "nvidia.com/gpu"


class Told:
    """Stands for the log, the clock and those who write events."""

    def __init__(self) -> None:
        self.time = 0.0
        self.notes: list[tuple[str, str]] = []

    def monotonic(self) -> float:
        return self.time

    def say(self, *_: Any, **__: Any) -> None:
        pass

    def about(self, regarding: dict[str, str], kind: str, reason: str, action: str, note: str) -> None:
        assert (kind, reason, action, regarding["kind"]) == ("Warning", "DevicesShort", "Counting", "Node")
        self.notes.append((regarding["name"], note))


def test_nobody_is_put_on_a_node_that_has_fewer_gpus_than_pods_have_until_enough_have_ended() -> None:
    check(
        """
        node n1 gpu=7
        pod  p1..p8 gpu=1 on=n1
        pod  new gpu=1 created=1s
        """,
        "wait new 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 7)",
    )


def test_a_node_is_told_once_after_a_minute_that_pods_have_more_gpus_than_there_are() -> None:
    told: Any = Told()
    short = ShortDevices(told, told, told)
    pods = "\n".join(f"pod p{at} gpu=1 on=n1" for at in range(8))
    full, shrunk = (Stage(f"node n1 gpu={gpus}\nnode n2 gpu=8\n{pods}").cycle("0s").snapshot for gpus in (8, 7))
    for snapshot, at, notes in (
        (full, 0.0, 0), (shrunk, 10.0, 0), (shrunk, 10.0 + GRACE, 1), (shrunk, 200.0, 1),
        # A plugin that starts anew offers nothing for a while, and then all.
        (full, 300.0, 1), (shrunk, 301.0, 1), (full, 302.0, 1), (shrunk, 330.0, 1), (shrunk, 390.0, 2),
    ):  # fmt: skip
        told.time = at
        short.see(snapshot)
        assert len(told.notes) == notes
    name, note = told.notes[0]
    assert name == "n1"
    assert note.startswith(f"pods have 8 {GPU} here, and 7 can be given out")
