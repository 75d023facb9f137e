"""`phalanx run` on a cluster that nobody prepared: it works at once, or says in one line what would mend it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from phalanx.kube.local.control_plane import ControlPlane
from phalanx.kube.local.nodes import node_manifest
from phalanx.testing.objects import create_all, gang_manifests
from phalanx.testing.running import Scheduler, eventually, places
from tests.kube.restricted import user_who_may
from tests.kube.served import served

pytestmark = pytest.mark.slow


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Scheduler]]:
    running: list[Scheduler] = []

    def start(kubeconfig: Path, *options: str) -> Scheduler:
        running.append(Scheduler(kubeconfig, tmp_path / f"phalanx-{len(running)}.log", *options))
        return running[-1]

    yield start
    for one in running:
        if one.process.poll() is None:
            one.stop()


def test_on_a_fresh_cluster_an_administrator_runs_it_and_a_gang_is_bound(
    fresh_control_plane: Callable[..., ControlPlane], run: Callable[..., Scheduler]
) -> None:
    """Then somebody who may less, on the same cluster without its namespace."""
    plane = fresh_control_plane()
    create_all(plane.kubeconfig, [node_manifest("n1"), *gang_manifests("g", 4)])
    scheduler = run(plane.kubeconfig)
    eventually("the gang is bound", lambda: len(places(plane)) == 4, scheduler.log)
    said = scheduler.log.read_text()
    assert "lease-trouble" not in said
    assert "namespace-made namespace=phalanx-system" in said
    assert scheduler.stop() == 0

    alice = user_who_may(plane, "alice")
    plane.kubectl("delete", "namespace", "phalanx-system")
    scheduler = run(alice)
    remedy = "kubectl create namespace phalanx-system"
    eventually("what mends it is said", lambda: remedy in scheduler.log.read_text(), scheduler.log)
    assert scheduler.log.read_text().count(remedy) == 1
    status, why = served(scheduler.log, "/readyz")
    assert (status, "the lease phalanx-system/phalanx: " in why) == (503, True), why
    plane.kubectl(*remedy.split()[1:])
    create_all(plane.kubeconfig, gang_manifests("h", 4))
    eventually("it goes on by itself", lambda: len(places(plane)) == 8, scheduler.log)
    assert served(scheduler.log, "/readyz") == (200, "ok\n")


def test_an_api_server_that_goes_away_and_comes_back_is_two_lines(
    fresh_control_plane: Callable[..., ControlPlane], run: Callable[..., Scheduler]
) -> None:
    plane = fresh_control_plane(controller_manager=False)
    create_all(plane.kubeconfig, [node_manifest("n1")])
    scheduler = run(plane.kubeconfig)
    eventually("it leads", lambda: " leading " in scheduler.log.read_text(), scheduler.log)
    before = len(scheduler.log.read_text())
    plane.kill("kube-apiserver")
    eventually("it is told", lambda: "api-server-away" in scheduler.log.read_text(), scheduler.log)
    # As long as it took seventy lines.
    time.sleep(7.0)
    plane.restart("kube-apiserver")
    eventually("its end is told", lambda: "api-server-back" in scheduler.log.read_text(), scheduler.log)
    said = [line.split(" ")[1] for line in scheduler.log.read_text()[before:].splitlines()]
    lease = {"no-longer-leading", "leading", "following"}
    assert [what for what in said if what not in lease] == ["api-server-away", "api-server-back"]
    create_all(plane.kubeconfig, gang_manifests("g", 4))
    eventually("the gang is bound", lambda: len(places(plane)) == 4, scheduler.log)
