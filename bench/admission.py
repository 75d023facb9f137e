"""What the admission policies cost the API server: objects created with and without them, in turns.

`make bench-admission`; QUICK=1 creates fewer. Bare creates as fast as the server takes them, no scheduler, no
controllers. Each round creates the same objects with and without, in changing order, and the ratio is that of the
medians; the noise is how far the rounds without policies lie apart, so a ratio within it says nothing.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phalanx.kube.install import Installation, Values, objects
from phalanx.kube.installation.values import Admission
from phalanx.kube.local import ControlPlane, LocalError
from phalanx.kube.queue_crd import queue_crd
from phalanx.testing.objects import create_all, delete_all, pod_manifest

Manifest = dict[str, Any]

QUICK = bool(os.environ.get("QUICK"))
ROUNDS = 2 if QUICK else 4
PODS = 400 if QUICK else 1000
POLICIES, BINDINGS = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
TICKS = os.sysconf("SC_CLK_TCK")
QUEUE, MADE = "phalanx.dev/queue", "batch.kubernetes.io/job-name"


def plain(name: str) -> Manifest:
    """A pod of somebody else: the policies look at its labels and annotations, and no further."""
    return pod_manifest(name, scheduler="default-scheduler")


def member(name: str) -> Manifest:
    """A member of a gang as a person applies it, in no queue."""
    return pod_manifest(name, gang="g", minimum=8)


def of_a_job(name: str) -> Manifest:
    """A member of a gang in a queue as the Job controller makes it."""
    made = member(name)
    made["metadata"]["labels"] = {QUEUE: "q0", MADE: "train"}
    return made


def queued(name: str) -> Manifest:
    """A member of a gang in a queue as a person applies it: judged once for each Queue."""
    made = member(name)
    made["metadata"]["labels"] = {QUEUE: "q0"}
    return made


def job(name: str) -> Manifest:
    """A Job in a queue: judged once for each Queue."""
    template = queued(name)
    spec = {"containers": template["spec"]["containers"], "schedulerName": "phalanx", "restartPolicy": "Never"}
    metadata = {"annotations": template["metadata"]["annotations"], "labels": template["metadata"]["labels"]}
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"}}
    return head | {"spec": {"parallelism": 8, "template": {"metadata": metadata, "spec": spec}}}


#: What is created, how many Queues there are, how many of it.
ROWS: list[tuple[Callable[[str], Manifest], int, int]] = [
    (plain, 0, PODS),
    (member, 0, PODS),
    (queued, 100, PODS // 4),
    (job, 100, PODS // 8),
    (of_a_job, 1000, PODS),
    (queued, 1000, PODS // 10),
    (job, 1000, PODS // 20),
]


@dataclass
class Measured:
    """Objects per second, and milliseconds of the API server's processor for each."""

    rates: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)


def cpu(plane: ControlPlane) -> float:
    """Return the seconds that the API server has computed."""
    parts = Path(f"/proc/{plane.pids['kube-apiserver']}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / TICKS


def switch(plane: ControlPlane, bindings: list[Manifest], *, on: bool) -> None:
    """Bind the policies or let them go, and wait until the API server has seen it."""
    verb = ["apply"] if on else ["delete", "--ignore-not-found"]
    plane.kubectl(*verb, "-f", "-", stdin=as_list(bindings))
    probe = pod_manifest("probe")
    probe["metadata"]["annotations"] = {"phalanx.dev/gnag": "g"}
    while True:
        try:
            plane.kubectl("create", "--dry-run=server", "-f", "-", stdin=as_list([probe]))
            refused = False
        except LocalError as error:
            refused = "unknown key" in str(error)
        if refused == on:
            break
        time.sleep(0.2)
    # The API server compiles the policies afresh, which is no cost of a pod.
    time.sleep(3.0)


def as_list(items: Iterable[Manifest]) -> str:
    """Return objects as kubectl takes them."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)})


def measure(plane: ControlPlane, made: list[Manifest], into: Measured) -> None:
    """Create the objects, and remove them outside of what is measured."""
    started, computed = time.monotonic(), cpu(plane)
    create_all(plane.kubeconfig, made)
    into.rates.append(len(made) / (time.monotonic() - started))
    into.processor.append(1000 * (cpu(plane) - computed) / len(made))
    delete_all(plane.kubeconfig, made)


def main() -> None:
    """Print the table."""
    with ControlPlane(controller_manager=False) as plane:
        plane.kubectl("apply", "-f", "-", stdin=as_list([queue_crd()]))
        plane.kubectl("wait", "--for=condition=Established", "crd/queues.scheduling.phalanx.dev")
        chosen = Values(admission=Admission(enabled=True))
        ours = [one for one in objects(Installation(values=chosen)) if one["kind"] in {POLICIES, BINDINGS}]
        plane.kubectl("apply", "-f", "-", stdin=as_list(one for one in ours if one["kind"] == POLICIES))
        bindings = [one for one in ours if one["kind"] == BINDINGS]
        print(f"Kubernetes {plane.version}, {os.cpu_count()} cores, {ROUNDS} rounds in turns")
        print("                            objects per second          processor of the server, ms each")
        print("created      Queues   without      with   ratio   noise     without      with")
        there = 0
        for make, queues, count in ROWS:
            create_all(plane.kubeconfig, [queue(number) for number in range(there, queues)])
            there = max(there, queues)
            row(
                plane,
                bindings,
                [make(f"{make.__name__.replace('_', '-')}-{number}") for number in range(count)],
                queues,
            )


def queue(number: int) -> Manifest:
    """A Queue with bounds, so that the policy has something to ask."""
    head = {"apiVersion": "scheduling.phalanx.dev/v1alpha1", "kind": "Queue", "metadata": {"name": f"q{number}"}}
    return head | {"spec": {"namespaces": ["default"], "access": "granted"}}


def row(plane: ControlPlane, bindings: list[Manifest], made: list[Manifest], queues: int) -> None:
    """Print one row."""
    found = {True: Measured(), False: Measured()}
    measure(plane, made, Measured())
    for number in range(ROUNDS):
        for on in (True, False) if number % 2 else (False, True):
            switch(plane, bindings, on=on)
            measure(plane, made, found[on])
    rates = {on: statistics.median(one.rates) for on, one in found.items()}
    processor = {on: statistics.median(one.processor) for on, one in found.items()}
    noise = (max(found[False].rates) - min(found[False].rates)) / rates[False]
    what = made[0]["metadata"]["name"].rpartition("-")[0]
    print(
        f"{what:<12}{queues:>7}{rates[False]:>10.0f}{rates[True]:>10.0f}{rates[True] / rates[False]:>8.2f}"
        f"{f'±{noise / 2:.0%}':>8}{processor[False]:>12.2f}{processor[True]:>10.2f}"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
