"""What Volcano's own scheduler does with a case, on a real API server; its controllers are not there."""

import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.cluster.peers import volcano, volcano_queues
from bench.cluster.running import running
from phalanx.kube.local import ControlPlane
from phalanx.testing.objects import create_all, delete_all, list_all
from tests.oracles.volcano_conf import CHART
from tests.volcano_outcomes.cases import CLASSES, Case
from tests.volcano_outcomes.comparing import Theirs

_PODS = "/api/v1/namespaces/default/pods"
_GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
_QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
#: Nothing has changed for so long: its sessions are a second apart.
_CALM, _PATIENCE = 6.0, 60.0
_KIND = "queues.scheduling.volcano.sh"


@contextmanager
def arena() -> Iterator[ControlPlane]:
    """Yield a control plane with Volcano's definitions, its queues `root` and `default`, and two priority classes."""
    with ControlPlane(controller_manager=False) as plane:
        volcano_queues(plane, {"root": {"weight": 1}, "default": {"weight": 1, "parent": "root"}})
        classes = [
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
            for name, value in CLASSES.items()
        ]
        create_all(plane.kubeconfig, classes)
        yield plane


def outcome(plane: ControlPlane, case: Case) -> Theirs:
    """Return what its scheduler made of a case."""
    create_all(plane.kubeconfig, case.nodes)
    create_all(plane.kubeconfig, case.queues)
    opened = json.dumps({"status": {"state": "Open"}})
    for queue in case.queues:
        name = queue["metadata"]["name"]
        plane.kubectl("patch", _KIND, name, "--subresource=status", "--type=merge", "-p", opened)
    for group in case.groups:
        # Times of creation are whole seconds, and of equals the uid decides there, which is chance.
        create_all(plane.kubeconfig, group)
        time.sleep(1.05)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "volcano").mkdir()
        (folder / "volcano" / "volcano-scheduler.conf").write_text(CHART)
        with running(volcano(plane, folder)) as processes:
            found = _calm(plane)
            processes.check()
    groups = list_all(plane.kubeconfig, _GROUPS)
    outside = [one["metadata"]["name"] for one in groups if (one.get("status") or {}).get("phase") == "Pending"]
    # Its default nodes' sandboxes are not there: what is deleted is gone at once.
    for path in (_PODS, _GROUPS, "/api/v1/nodes"):
        delete_all(plane.kubeconfig, list_all(plane.kubeconfig, path))
    queues = [one for one in list_all(plane.kubeconfig, _QUEUES) if one["metadata"]["name"] not in {"root", "default"}]
    delete_all(plane.kubeconfig, queues)
    return Theirs(found, sorted(outside))


def _calm(plane: ControlPlane) -> dict[str, int]:
    """Wait until nothing has changed for a while."""
    began = last = time.monotonic()
    found: dict[str, int] = {}
    while time.monotonic() - last < _CALM and time.monotonic() - began < _PATIENCE:
        time.sleep(0.5)
        bound = [pod["metadata"]["name"] for pod in list_all(plane.kubeconfig, _PODS) if pod["spec"].get("nodeName")]
        now = dict(sorted(Counter(name.rpartition("-")[0] for name in bound).items()))
        if now != found:
            found, last = now, time.monotonic()
    return found
