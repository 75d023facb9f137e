"""What wishes about other pods are worth: kube-scheduler's formulas, on numbers worked out by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from phalanx.dialects.read import read
from phalanx.engine.opening import open_session
from phalanx.engine.placement.copies import copies
from phalanx.engine.plugin import Score
from phalanx.engine.plugins.pod_affinity import PodAffinity
from phalanx.engine.plugins.topology_spread import TopologySpread
from phalanx.engine.policy import Policy, Weighted
from phalanx.engine.session.request import Request
from phalanx.model.events import NodeSeen, ServiceSeen, TaskSeen
from phalanx.model.node import Node
from phalanx.model.selectors import LabelSelector, Liking, PodTerm, Requirement, Spread
from phalanx.model.task import Shape, State, Task
from phalanx.model.topology import HOSTNAME, ZONE
from phalanx.world.world import World

WEB = LabelSelector((Requirement("app", "In", ("web",)),))
#: Two nodes in zone a, one in b, one in c, and one in none.
ZONES = {"n1": "a", "n2": "a", "n3": "b", "n4": "c", "n5": None}


def pod(name: str, node: str | None = None, **more: Any) -> Task:
    task = Task(name, "default", name, Shape((("pods", 1),)), labels={"app": "web"})
    return replace(task, **{"state": State.RUNNING if node else State.PENDING, "node": node, **more})


def scores(plugin: Any, *tasks: Task, services: tuple[ServiceSeen, ...] = ()) -> list[int]:
    """Return the score of the one pod that waits, in hundredths, node by node; nothing if there is none to say."""
    policy = Policy("scores", (), (Weighted(plugin),))
    world = World(policy.label_keys)
    world.said.services.wanted = "Service" in policy.asks
    for service in services:
        world.apply(service)
    for name, zone in ZONES.items():
        world.apply(
            NodeSeen(Node(name, allocatable={"pods": 9}, labels={HOSTNAME: name} | ({ZONE: zone} if zone else {})))
        )
    for task in tasks:
        world.apply(TaskSeen(task))
    snapshot = world.compile(0.0)
    session = open_session(snapshot, policy)
    request = Request(int(snapshot.tasks.shape[0]))
    request = replace(request, candidates=np.flatnonzero(copies(session, policy, request) > 0))
    assert isinstance(plugin, Score)
    found = plugin.score(session, request, np.arange(5), np.zeros(5, np.int64))
    return [] if found is None else [round(100 * float(one)) for one in found]


THERE = (pod("x1", "n1"), pod("x2", "n1"), pod("x3", "n3"))


def test_a_spread_over_zones_prefers_where_fewer_are_and_a_node_in_no_zone_least() -> None:
    """Three domains: ln 5 = 1.61 a pod, so 3, 2 and 0, and (3 + 0 - s) / 3."""
    wish = Spread(ZONE, 1, WEB, hard=False)
    assert scores(TopologySpread(), pod("p", spreads=(wish,)), *THERE) == [0, 0, 33, 100, 0]


def test_a_larger_skew_waters_differences_down() -> None:
    """Two more each: 5, 4 and 2."""
    wish = Spread(ZONE, 3, WEB, hard=False)
    assert scores(TopologySpread(), pod("p", spreads=(wish,)), *THERE) == [40, 40, 60, 100, 0]


def test_over_hosts_each_node_counts_for_itself_and_terminating_pods_do_not() -> None:
    """Five domains: ln 7 = 1.95 a pod, so 4, 0, 2, 0, 0."""
    wish = Spread(HOSTNAME, 1, WEB, hard=False)
    gone = pod("gone", "n5", state=State.RELEASING)
    assert scores(TopologySpread(), pod("p", spreads=(wish,)), *THERE, gone) == [0, 100, 50, 100, 100]


def test_where_nobody_is_yet_all_are_equally_good() -> None:
    wish = Spread(HOSTNAME, 1, WEB, hard=False)
    assert scores(TopologySpread(), pod("p", spreads=(wish,))) == [100] * 5


@pytest.mark.parametrize("defaults", ["none", "system"])
def test_copies_of_one_replica_set_are_spread_by_default_where_the_policy_asks_for_it(defaults: Any) -> None:
    """Hosts: ln 7 a pod + 2; zones, of which none is one: ln 6 a pod + 4. In no zone its host alone counts."""
    mine = [replace(task, replicas_of="web-1") for task in THERE]
    other = pod("y", "n2", replicas_of="web-2")
    found = scores(TopologySpread(defaults), pod("p", replicas_of="web-1"), *mine, other)
    # 2 + 3.89 + 4 + 3.58 = 13, 2 + 4 + 3.58 = 10, 2 + 1.95 + 4 + 1.79 = 10, 6, 2.
    assert found == ([] if defaults == "none" else [15, 38, 38, 69, 100])


@pytest.mark.parametrize("defaults", ["none", "system"])
def test_pods_of_one_service_are_spread_by_default_where_the_policy_asks_for_it(defaults: Any) -> None:
    """Whatever made them. What other namespaces have, and what selects others or nobody, does not count."""
    web, other = ServiceSeen("default/web", {"app": "web"}), ServiceSeen("default/db", {"app": "db"})
    more = (other, ServiceSeen("default/all", None), ServiceSeen("other/web", {"app": "web", "tier": "x"}))
    db = pod("y", "n2", labels={"app": "db"})
    found = scores(TopologySpread(defaults), pod("p"), *THERE, db, services=(web, *more))
    assert found == ([] if defaults == "none" else [15, 38, 38, 69, 100])
    assert scores(TopologySpread(defaults), pod("p"), *THERE, db, services=more) == []


def test_with_several_services_those_count_that_all_of_them_select_and_that_are_copies_too() -> None:
    """Where nobody counts: 2 + 4 in a zone and 2 in none."""
    nobody = [33, 33, 33, 33, 100]
    web, front = ServiceSeen("default/web", {"app": "web"}), ServiceSeen("default/front", {"tier": "front"})
    both = {"app": "web", "tier": "front"}
    x1, x2, x3 = THERE
    assert scores(TopologySpread("system"), pod("p", labels=both), x1, x2, x3, services=(web, front)) == nobody
    found = scores(TopologySpread("system"), pod("p", labels=both), replace(x3, labels=both), services=(web, front))
    assert found == scores(TopologySpread("system"), pod("p"), x3, services=(web,))
    mine = [replace(task, replicas_of="a") for task in THERE]
    copy = pod("p", replicas_of="b")
    assert scores(TopologySpread("system"), copy, *mine, services=(web,)) == nobody


def test_preferred_terms_of_the_pod_and_of_those_on_nodes_add_up_between_the_least_and_the_most() -> None:
    """n1: 2 × 5 + 2; n2: 2 × 5 by its zone; n3: 5 - 3 × 1 ; n4, n5: nothing."""
    term = PodTerm(ZONE, WEB, frozenset({"default"}))
    host = PodTerm(HOSTNAME, WEB, frozenset({"default"}))
    x1, x2, x3 = THERE
    fond = replace(x1, likes=(Liking(2, host),))
    grim = replace(x3, likes=(Liking(-3, host),))
    found = scores(PodAffinity(), pod("p", likes=(Liking(5, term),)), fond, x2, grim)
    assert found == [100, 83, 16, 0, 0]


def test_a_required_term_of_a_running_pod_is_worth_its_weight_to_whom_it_means() -> None:
    needy = pod("needy", "n3", attracts=(PodTerm(ZONE, WEB, frozenset({"default"})),))
    assert scores(PodAffinity(), pod("p"), needy) == [0, 0, 100, 0, 0]
    assert scores(PodAffinity(hard_weight=0), pod("p"), needy) == []


def test_who_is_a_copy_of_what_is_read_from_the_owner_that_controls_it() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u1", "controller": True}

    def owned(**changes: Any) -> str:
        meta = {"name": "p", "ownerReferences": [{**owner, **changes}]}
        event = read({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [{}]}}, ["phalanx"])
        assert isinstance(event, TaskSeen)
        return event.task.replicas_of

    assert [owned(), owned(kind="StatefulSet"), owned(kind="Job"), owned(controller=False)] == ["u1", "u1", "", ""]
