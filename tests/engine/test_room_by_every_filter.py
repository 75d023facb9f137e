"""Room is made by every filter: whatever keeps a pod out, who is in the way of that leaves; promises keep it too."""

from phalanx.model.selectors import LabelSelector, PodTerm, Requirement
from phalanx.testing import check, check_run
from phalanx.testing.stage import Stage
from tests.oracles.room import ROOM


def test_who_has_the_port_leaves_for_the_more_important_who_then_gets_it() -> None:
    check(
        """
        node  n1    cpu=64
        pod   low   cpu=1 port=80 priority=1 on=n1
        pod   high  cpu=1 port=80 priority=9
        """,
        """
        evict low n1 for high: of higher priority in its queue (9)
        nominate high n1
        cycle 2
        bind high n1
        cycle 3
        """,
        ROOM,
        cycles=3,
    )


def test_only_who_has_the_port_leaves() -> None:
    """Pods other and young would be the first to go; without the port, they are of no help."""
    check(
        """
        node  n1     cpu=64
        pod   low    cpu=1 port=80 priority=1 on=n1
        pod   other  cpu=1 on=n1
        pod   young  cpu=1 port=81 on=n1 created=1m
        pod   high   cpu=1 port=80 priority=9 created=2m
        """,
        """
        evict low n1 for high: …
        nominate high n1
        cycle 2
        bind high n1
        """,
        ROOM,
        cycles=2,
    )


def test_a_queue_takes_back_a_port_with_its_share() -> None:
    check(
        """
        node   n1    gpu=8
        queue  a     quota:gpu=0
        queue  b     quota:gpu=8
        pod    low   gpu=1 port=80 queue=a on=n1
        pod    free  gpu=1 queue=a on=n1
        pod    mine  gpu=1 port=80 queue=b created=1m
        """,
        """
        evict low n1 for mine: queue b reclaims its share
        nominate mine n1
        cycle 2
        bind mine n1
        """,
        ROOM,
        cycles=2,
    )


def test_who_has_the_port_is_moved_where_the_port_is_free() -> None:
    check(
        """
        node  n1    cpu=8 label:disk=ssd
        node  n2    cpu=8
        pod   low   cpu=1 port=80 on=n1 controlled
        pod   mine  cpu=1 port=80 select:disk=ssd created=1m
        """,
        """
        evict low n1 for mine: moved together with others, so that it fits
        nominate mine n1
        nominate low n2
        cycle 2
        bind low n2
        bind mine n1
        """,
        ROOM,
        cycles=2,
    )


def repelling(given: str, key: str) -> Stage:
    """Return a cluster in which the pod low keeps pods of the app web out of its domain of this key."""
    stage = Stage(given, ROOM)
    web = LabelSelector((Requirement("app", "In", ("web",)),))
    stage.change("low", repels=(PodTerm(key, web, frozenset({"default"})),))
    return stage


def test_whose_anti_affinity_keeps_the_more_important_out_leaves() -> None:
    stage = repelling(
        """
        node  n1    gpu=8
        pod   low   gpu=1 on=n1
        pod   other gpu=1 on=n1
        pod   high  gpu=1 priority=9 label:app=web created=1m
        """,
        "kubernetes.io/hostname",
    )
    stage.check("1m", "evict low n1 for high: of higher priority in its queue (9)\nnominate high n1")
    stage.check("2m", "bind high n1")
    stage.check("3m", "")


def test_who_closes_a_whole_zone_leaves_for_a_place_on_another_node() -> None:
    stage = repelling(
        """
        node  n1    gpu=1 label:zone=a
        node  n2    gpu=8 label:zone=a
        pod   low   gpu=1 on=n1
        pod   high  gpu=4 priority=9 label:app=web created=1m
        """,
        "zone",
    )
    stage.check("1m", "evict low n1 for high: …\nnominate high n2")
    stage.check("2m", "bind high n2")


def test_who_is_kept_out_by_somebody_who_must_not_leave_waits_for_him_and_not_for_ever() -> None:
    """The code is full: it would fit if low were not there."""
    stage = repelling(
        """
        node  n1    gpu=8
        pod   low   gpu=1 on=n1 preemptible=false
        pod   high  gpu=1 priority=9 label:app=web created=1m
        """,
        "kubernetes.io/hostname",
    )
    stage.check("1m", "wait high 1 full: 0/1 nodes: 1 closed by the anti-affinity of a running pod; preemption: …")


PROMISED_PORT = """
    node  n1    gpu=8 cpu=64
    pod   low   gpu=8 on=n1 controlled
    pod   high  gpu=8 port=80 priority=9
    pod   web   cpu=1 port=80 created=10s
    """


def test_a_promise_keeps_the_port_too() -> None:
    stage = Stage(PROMISED_PORT, ROOM)
    stage.check("0s", "evict low n1 for high: …\nnominate high n1")
    stage.check("10s", "wait web 1 full: 0/1 nodes: 1 with host port 80 taken\nnominate high n1")
    stage.check("30s", "bind high n1\nwait low 1 full: …\nwait web 1 full: …")


def test_a_promise_keeps_the_port_over_time() -> None:
    check_run(
        PROMISED_PORT,
        """
        at 0s
        evict low n1 for high: of higher priority in its queue (9)
        nominate high n1
        at 10s
        wait web 1 full: 0/1 nodes: 1 with host port 80 taken
        nominate high n1
        at 30s
        bind high n1
        wait web 1 full: 0/1 nodes: 1 with host port 80 taken
        wait low 1 full: …
        """,
        ROOM,
        until="1h",
    )


def test_who_got_the_port_first_leaves_with_the_others() -> None:
    """Both wait from the start: web takes the port, since high finds no GPU, and gives it back in the next cycle."""
    check(
        PROMISED_PORT,
        """
        wait high 1 full: …
        bind web n1
        cycle 2
        evict web n1 for high: …
        evict low n1 for high: …
        nominate high n1
        cycle 3
        bind high n1
        wait low 1 full: …
        """,
        ROOM,
        cycles=3,
    )
