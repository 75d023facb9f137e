"""Two replicas that race, are killed and come back, beside kube-scheduler: no GPU is given twice, nothing is left over.

The long form is `make chaos`, with ROUNDS=50.
"""

import os
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from phalanx.kube.reserving.pods import LABEL
from phalanx.testing.objects import Manifest, pod_manifest
from tests.faults.kubelet import StrictKubelet
from tests.faults.mishaps import answer_lost, answered, late
from tests.faults.proxy import FaultyProxy, Passage
from tests.faults.rig import LEASE, RENEW, RETRY, Rig
from tests.faults.verdict import split_gangs

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_control_plane")]

ROUNDS = int(os.environ.get("ROUNDS", "5"))
GPU = "nvidia.com/gpu"
REPLICAS = ("first", "second")
NODES, GPUS = 2, 3
#: A gang that a kill has split, and whose room somebody else took, steps back soon.
WORDS = (f"--lease-duration={LEASE}", f"--renew-deadline={RENEW}", f"--retry-period={RETRY}", "--wave-deadline=5")
#: How a container says that it wants to know its GPU: it is never bound without an answer.
READS = [{
    "name": "NVIDIA_VISIBLE_DEVICES",
    "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['phalanx.dev/gpu-ids']"}},
}]  # fmt: skip


class Sharing:
    """Work that shares GPUs and work that wants whole ones, and one look at who has which."""

    def __init__(self, rig: Rig, kubelet: StrictKubelet, chance: random.Random) -> None:
        self.rig, self.kubelet, self.chance = rig, kubelet, chance
        self.made = 0
        #: How many pods that share were seen on their GPUs, for a report.
        self.seen = 0

    def arrive(self, *, sure: bool = False) -> None:
        """Some pods more, of all kinds; `sure`: the first one shares a GPU."""
        for number in range(self.chance.randrange(1, 5)):
            self.made += 1
            kind = 1.0 if sure and not number else self.chance.random()
            if kind < 0.2:
                self.rig.create(
                    [pod_manifest(f"theirs-{self.made}", requests={GPU: "1"}, scheduler="default-scheduler")]
                )
            elif kind < 0.3:
                self.rig.create([pod_manifest(f"whole-{self.made}", requests={GPU: "1"})])
            elif kind < 0.5:
                fraction = self.chance.choice(["0.3", "0.5"])
                self.rig.create([self.part(f"gang-{self.made}-{n}", fraction, f"g{self.made}", 3) for n in range(3)])
            else:
                self.rig.create([self.part(f"part-{self.made}", self.chance.choice(["0.2", "0.5", "0.7"]))])

    def part(self, name: str, fraction: str, gang: str | None = None, minimum: int = 1) -> Manifest:
        pod = pod_manifest(name, requests={"cpu": "100m"}, gang=gang, minimum=minimum)
        pod["metadata"]["annotations"] |= {"phalanx.dev/gpu-fraction": fraction}
        if self.chance.random() < 0.8:
            pod["spec"]["containers"][0]["env"] = READS
        return pod

    def end(self, part: float) -> None:
        """Some pods end, gangs as a whole, and those that the kubelet turned away."""
        work = [pod for pod in self.rig.pods() if LABEL not in labels(pod)]
        jobs = sorted({said(pod, "gang") or pod["metadata"]["name"] for pod in work})
        ended = {job for job in jobs if self.chance.random() < part}
        self.rig.delete([pod for pod in work if failed(pod) or (said(pod, "gang") or pod["metadata"]["name"]) in ended])

    def look(self) -> int:
        """Nobody has more than there is of a GPU, or one that is not kept for it; return how many share."""
        pods = self.rig.pods()
        reserved = {
            (pod["spec"]["nodeName"], said(pod, "gpu-group")): pod
            for pod in pods
            if LABEL in labels(pod) and pod["status"]["phase"] == "Running"
        }
        taken: dict[str, int] = defaultdict(int)
        before = self.seen
        for pod in pods:
            if "nodeName" not in pod["spec"] or failed(pod) or not said(pod, "gpu-fraction"):
                continue
            keeper = reserved.get((pod["spec"]["nodeName"], said(pod, "gpu-group")))
            assert keeper is not None, f"{pod['metadata']['name']} shares a GPU that nobody keeps"
            (gpu,) = self.kubelet.ids(keeper)
            told = said(pod, "gpu-ids")
            assert told in {"", gpu}, f"{pod['metadata']['name']} was told {told}, and {gpu} is kept"
            assert told or not pod["spec"]["containers"][0].get("env"), "it wanted to know its GPU"
            taken[gpu] += round(1000 * float(said(pod, "gpu-fraction")))
            self.seen += 1
        assert all(part <= 1000 for part in taken.values()), f"a GPU is given out beyond what it has: {dict(taken)}"
        return self.seen - before

    def reservations(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.rig.pods() if LABEL in labels(pod)]


def labels(pod: Manifest) -> dict[str, str]:
    return pod["metadata"].get("labels") or {}


def said(pod: Manifest, word: str) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(f"phalanx.dev/{word}", ""))


def failed(pod: Manifest) -> bool:
    return bool(pod["status"].get("phase") == "Failed")


@pytest.fixture
def chance() -> random.Random:
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(10**6))
    print(f"\nSEED={seed}")  # noqa: T201 (shown when the test fails)
    return random.Random(seed)  # noqa: S311 (chance, not secrecy)


@pytest.fixture
def rig() -> Iterator[Rig]:
    with Rig(nodes=NODES, gpus=GPUS, scheduler=True) as running:
        yield running


def test_replicas_that_are_killed_at_any_moment_give_no_gpu_twice_and_leave_no_reservation(
    rig: Rig, chance: random.Random
) -> None:
    with StrictKubelet(rig.plane.kubeconfig) as kubelet:
        work = Sharing(rig, kubelet, chance)
        for replica in REPLICAS:
            rig.start(replica, None, *WORDS)
        for _ in range(ROUNDS):
            # Somebody leads before the next turn of arrivals, endings and kills.
            work.end(1.0)
            work.arrive(sure=True)
            rig.wait(lambda: work.look() > 0, "a pod that shares a GPU")
            for _ in range(chance.randrange(2, 6)):
                work.arrive()
                time.sleep(chance.uniform(0.0, 0.5))
                work.look()
                work.end(chance.choice([0.0, 0.2, 0.5]))
                time.sleep(chance.uniform(0.0, 0.5))
                work.look()
            work.arrive()
            time.sleep(chance.uniform(0.0, 0.1))
            for replica in chance.sample(REPLICAS, chance.randrange(1, 3)):
                rig.processes.kill(replica)
                work.look()
                rig.processes.restart(replica)
        settle(rig, work)
        rig.wait(lambda: not split_gangs(rig.pods()), "gangs that a kill has split to be whole or gone")
        settle(rig, work)
        rig.check(*REPLICAS)
        work.end(1.0)
        rig.wait(lambda: not work.reservations(), "the last reservation to go")
        for replica in REPLICAS:
            assert "invariant-broken" not in rig.processes.log(replica)
        # Who is turned away had lost a race for a whole GPU; who shares one asks the kubelet for none.
        assert [away for away in kubelet.turned_away if away.pod.startswith(("part", "gang"))] == []
        print(f"{work.made} times work arrived; parts were looked at {work.seen} times")  # noqa: T201


def settle(rig: Rig, work: Sharing) -> None:
    """Wait until whoever leads gave out all that can be: nothing changes any more."""
    last: list[Any] = []

    def still() -> bool:
        work.end(0.0)
        now = sorted((pod["metadata"]["uid"], pod["spec"].get("nodeName", "")) for pod in rig.pods())
        last.append(now)
        work.look()
        return len(last) > 60 and all(one == now for one in last[-60:])

    rig.wait(still, "everything to come to rest")


def reservations(passage: Passage) -> bool:
    return passage.request.method in {"POST", "DELETE"} and (
        passage.request.path.endswith("/namespaces/kube-system/pods")
        or "/namespaces/kube-system/pods/gpu-" in passage.request.path
    )


def test_writes_of_reservations_that_get_no_good_answer_are_repeated_and_done_once(
    rig: Rig, chance: random.Random
) -> None:
    with StrictKubelet(rig.plane.kubeconfig) as kubelet, FaultyProxy(rig.plane, rig.user("first")) as proxy:
        work = Sharing(rig, kubelet, chance)
        rig.start("first", proxy.kubeconfig)
        faults = (answer_lost, answered(503), answered(429, "slow down", {"Retry-After": "1"}), late(1.5))
        for turn, fault in enumerate(faults):
            rule = proxy.on(reservations, fault, times=3)
            rig.create([work.part(f"part-{turn}-{number}", "0.6") for number in range(2)])
            rig.wait(lambda: rig.bound() == 4, "two pods, and a GPU kept for each")
            work.look()
            work.end(1.0)
            rig.wait(lambda: not rig.pods(), "all of them to go")
            assert rule.met == 3
            proxy.calm()
        rig.check("first")
