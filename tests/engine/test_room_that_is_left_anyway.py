"""Room that others are about to leave: who is promised it."""

from phalanx.loop import Loop
from phalanx.model.axis import GPU
from phalanx.model.events import NodeSeen, QueueSeen, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.queue import UNLIMITED, Queue, Terms
from phalanx.model.task import Shape, State, Task
from tests.oracles.room import NOW, RECLAIM, policy_of, world_of


def pod(name: str, queue: str, gpus: int, node: str | None = None, gang: str = "", minimum: int = 1) -> TaskSeen:
    shape = Shape(((GPU, gpus * 1000), ("pods", 1)), priority=int(gang == "grows"))
    state = State.PENDING if node is None else State.RELEASING if name == "old" else State.RUNNING
    said = Membership(f"d/{gang}", minimum) if gang else None
    started = None if node is None else 1.0
    return TaskSeen(
        Task(name, "d", name, shape, state, node, created=1.0, started=started, queue=queue, membership=said)
    )


def plan_of(*more: TaskSeen) -> str:
    """Return what is decided where both GPUs of n1 are being left, and the four of n0 are taken by the protected."""
    queues = {"mine": 1, "theirs": 4, "guest": 0}
    world = world_of(
        [
            *(
                NodeSeen(Node(name, allocatable={GPU: gpus * 1000, "pods": 50}))
                for name, gpus in (("n0", 4), ("n1", 2))
            ),
            *(
                QueueSeen(Queue(name, terms={GPU: Terms(quota * 1000, UNLIMITED)}, reclaim_min_runtime=3600.0))
                for name, quota in queues.items()
            ),
            pod("old", "mine", 2, "n1"),
            *(pod(f"extra-{member}", "guest", 1, "n0", "extra", 2) for member in range(2)),
            pod("work", "theirs", 2, "n0"),
            *(pod(f"grows-{member}", "mine", 1, gang="grows") for member in range(3)),
            *more,
        ]
    )
    return "\n".join(line for line in Loop(world, policy_of(RECLAIM)).cycle(NOW).plan.text().splitlines() if line)


def test_it_is_not_promised_beyond_a_queues_share_while_another_queue_claims_its_own() -> None:
    """The claim could take the promise over at once. Once the room is free, whose turn it is has it."""
    assert plan_of(pod("claims", "theirs", 2)).count("nominate d/grows-") == 1


def test_it_is_promised_beyond_a_queues_share_while_nobody_else_claims() -> None:
    assert plan_of().count("nominate d/grows-") == 2
