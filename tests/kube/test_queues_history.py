"""What queues have used is not forgotten: not by a restart, and not by whoever takes over."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from phalanx.model.axis import GPU
from phalanx.testing.objects import delete_all
from phalanx.testing.running import Scheduler, eventually
from tests.kube.queue_cluster import QueueCluster, gang, queue

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_control_plane")]

Scrape = Callable[[str], dict[tuple[str, ...], float]]


@pytest.fixture
def policy(tmp_path: Path) -> str:
    path = tmp_path / "remembering.yaml"
    share = {"name": "quota_then_weight", "arguments": {"memory": {"window": "10m"}}}
    path.write_text(json.dumps({"extends": "default", "share": share}))
    return str(path)


def scraping(scheduler: Scheduler) -> Scrape:
    """Return a way to read one of a scheduler's metrics, by labels."""
    found: re.Match[str] = eventually("it listens", lambda: re.search(r" port=(\d+)", scheduler.log.read_text()))

    def scrape(name: str) -> dict[tuple[str, ...], float]:
        with urlopen(f"http://127.0.0.1:{found[1]}/metrics") as answer:
            families = text_string_to_metric_families(answer.read().decode())
            return {
                tuple(one.labels.values()): one.value for family in families for one in family.samples
                if one.name == name
            }  # fmt: skip

    return scrape


def shares(scrape: Scrape) -> dict[tuple[str, ...], float]:
    """Wait until both teams ask for all of their large gangs, and return what they are entitled to."""
    all_asked = {("team-a", GPU): 9.0, ("team-b", GPU): 9.0}
    eventually("both ask", lambda: scrape("phalanx_queue_requested") == all_asked)
    return scrape("phalanx_queue_share")


def test_the_figures_of_queues_are_told_to_prometheus(cluster: QueueCluster) -> None:
    cluster.make(
        queue("team-a", {"quota": 4, "limit": 6}), queue("team-b", {"quota": "unlimited"}),
        gang("a1", 3, "team-a"), gang("a2", 4, "team-a"),
    )  # fmt: skip
    scrape = scraping(cluster.run())
    cluster.bound("a1")
    allocated = {("team-a", GPU): 3.0, ("team-b", GPU): 0.0}
    eventually("what runs is told", lambda: scrape("phalanx_queue_allocated") == allocated, cluster.log)
    assert scrape("phalanx_queue_requested") == {("team-a", GPU): 7.0, ("team-b", GPU): 0.0}
    assert scrape("phalanx_queue_share") == {("team-a", GPU): 6.0, ("team-b", GPU): 0.0}
    assert scrape("phalanx_queue_quota") == {("team-a", GPU): 4.0}
    assert scrape("phalanx_queue_pending_gangs") == {("team-a",): 1.0, ("team-b",): 0.0}
    assert scrape("phalanx_capacity") == {(GPU,): 8.0}


def test_a_restart_goes_on_with_the_shares_that_there_were(cluster: QueueCluster, policy: str) -> None:
    """Team a had everything for a while; then both ask for more than there is, and b is entitled to more."""
    cluster.make(queue("team-a", {}), queue("team-b", {}), gang("a1", 8, "team-a"))
    first = cluster.run("--policy", policy)
    scrape = scraping(first)
    cluster.bound("a1")
    time.sleep(8)
    delete_all(cluster.plane.kubeconfig, gang("a1", 8, "team-a"))
    cluster.make(gang("a-large", 9, "team-a"), gang("b-large", 9, "team-b"))

    before = shares(scrape)
    assert before["team-b", GPU] > 4, "what was used counts"
    assert first.stop() == 0
    assert set(cluster.queues()["team-a"]["status"]["usage"]["used"]) == {GPU}

    second = cluster.run("--policy", policy)
    after = shares(scraping(second))
    assert abs(after["team-b", GPU] - before["team-b", GPU]) <= 1, (before, after)


def test_whoever_takes_over_goes_on_with_the_history_of_the_leader(cluster: QueueCluster, policy: str) -> None:
    lease = ("--lease-duration=3", "--renew-deadline=2", "--retry-period=0.5")
    cluster.make(queue("team-a", {}), queue("team-b", {}))
    leader = cluster.start("--policy", policy, *lease)
    eventually("it leads", lambda: " leading " in leader.log.read_text(), leader.log)
    follower = cluster.start("--policy", policy, *lease)
    eventually("it follows", lambda: " following " in follower.log.read_text(), follower.log)
    cluster.make(gang("a1", 8, "team-a"))
    cluster.bound("a1")
    time.sleep(8)
    delete_all(cluster.plane.kubeconfig, gang("a1", 8, "team-a"))
    assert leader.stop() == 0
    eventually("the other one leads", lambda: " leading " in follower.log.read_text(), follower.log)
    cluster.make(gang("a-large", 9, "team-a"), gang("b-large", 9, "team-b"))
    assert shares(scraping(follower))["team-b", GPU] > 4
