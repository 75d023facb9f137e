"""Services are looked at only where the policy asks for them, and a change costs their namespace."""

import pytest

from phalanx.dialects.read import read
from phalanx.kube.kinds import watched
from phalanx.model.events import Refused, ServiceGone, ServiceSeen, TaskSeen
from phalanx.model.task import Shape, Task
from phalanx.policy.load import load_policy
from phalanx.world.world import World

WEB = ServiceSeen("default/web", {"app": "web"})


def pod(name: str, namespace: str = "default", **labels: str) -> TaskSeen:
    return TaskSeen(Task(name, namespace, name, Shape((("pods", 1),), namespace=namespace), labels=labels))


def world(*, wanted: bool) -> World:
    found = World()
    found.said.services.wanted = wanted
    for event in (pod("a", app="web"), pod("b", app="db"), pod("c", "other", app="web")):
        found.apply(event)
    return found


def served(one: World) -> dict[str, object]:
    snapshot = one.compile(1.0)
    rows = zip(snapshot.tasks.names, snapshot.tasks.shape.tolist(), strict=True)
    return {name.partition("/")[2]: snapshot.shapes[shape].served for name, shape in rows}


def test_the_pods_that_a_service_selects_follow_it_as_it_comes_changes_and_goes() -> None:
    one, nobody = world(wanted=True), {"a": (), "b": (), "c": ()}
    assert served(one) == nobody
    one.apply(WEB)
    assert served(one) == nobody | {"a": (("app", "web"),)}
    one.apply(ServiceSeen("default/web", {"app": "db"}))
    assert served(one) == nobody | {"b": (("app", "db"),)}
    one.apply(ServiceGone("default/web"))
    assert served(one) == nobody


def test_where_no_plugin_asks_shapes_stay_what_they_are() -> None:
    one = world(wanted=False)
    before = one.compile(1.0)
    one.apply(WEB)
    assert one.compile(1.0).shapes == before.shapes
    one.said.services.wanted = True
    assert served(one)["a"] == (("app", "web"),)


def test_a_service_that_changes_nothing_wakes_nobody() -> None:
    one = world(wanted=True)
    one.apply(WEB)
    one.compile(1.0)
    one.apply(WEB)
    one.apply(ServiceSeen("default/headless", None))
    assert one.due(1.0) is None


def test_they_are_watched_for_a_policy_that_asks_and_for_no_other() -> None:
    def kinds(preset: str) -> set[str]:
        return {kind.kind for kind in watched(load_policy(preset).asks)}

    assert kinds("pod-by-pod") - kinds("default") == {"Service"}
    assert "Service" not in {kind.kind for kind in watched()}


@pytest.mark.parametrize(
    ("spec", "field", "found"),
    [
        ({"selector": "web"}, "spec.selector", "found 'web', allowed is a map of labels"),
        ({"selector": {"app": 3}}, "spec.selector[app]", "found 3, allowed is a string"),
        (3, "spec", "found 3, allowed is a map"),
    ],
)
def test_a_service_with_a_mistake_is_one_line(spec: object, field: str, found: str) -> None:
    event = read({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec}, ["phalanx"])
    assert isinstance(event, Refused)
    assert (str(event.object), event.field) == ("Service default/web", field)
    assert event.message == found
