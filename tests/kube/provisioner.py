"""A pretend CSI provisioner that keeps to the protocol: it makes a volume for a claim once a node was chosen for it."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from phalanx.kube.local import ControlPlane
from phalanx.testing.objects import create_all, list_all

DRIVER = "csi.example.com"
ZONE = "topology.kubernetes.io/zone"
SELECTED = "volume.kubernetes.io/selected-node"
MAKER = "volume.kubernetes.io/storage-provisioner"


class Provisioner:
    """Makes volumes in the zone of the chosen node; claims that it cannot serve it gives back."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._made: set[str] = set()
        #: Tells of a claim by its name whether a volume can be made for it.
        self.can: Callable[[str], bool] = lambda _: True
        #: How often a claim was given back.
        self.refused = 0

    def look(self) -> None:
        """Serve every claim that asks now."""
        claims = list_all(self._plane.kubeconfig, "/api/v1/persistentvolumeclaims")
        zones = {
            node["metadata"]["name"]: node["metadata"]["labels"].get(ZONE)
            for node in list_all(self._plane.kubeconfig, "/api/v1/nodes")
        }
        for claim in claims:
            notes = claim["metadata"].get("annotations", {})
            asks = notes.get(MAKER) == DRIVER and notes.get(SELECTED) and not claim["spec"].get("volumeName")
            if not asks or claim["metadata"]["uid"] in self._made:
                continue
            if self.can(claim["metadata"]["name"]):
                self._made.add(claim["metadata"]["uid"])
                create_all(self._plane.kubeconfig, [_volume(claim, zones[notes[SELECTED]])])
            else:
                self.refused += 1
                gone = {"metadata": {"annotations": {SELECTED: None}}}
                place = ["-n", claim["metadata"]["namespace"], "pvc", claim["metadata"]["name"]]
                self._plane.kubectl("patch", *place, "-p", json.dumps(gone))


def _volume(claim: dict[str, Any], zone: str | None) -> dict[str, Any]:
    meta, spec = claim["metadata"], claim["spec"]
    wish = {"key": ZONE, "operator": "In", "values": [zone]}
    return {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"pvc-{meta['uid']}"},
        "spec": {
            "capacity": spec["resources"]["requests"], "accessModes": spec["accessModes"],
            "storageClassName": spec["storageClassName"], "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": DRIVER, "volumeHandle": meta["uid"]},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": meta["namespace"],
                "name": meta["name"], "uid": meta["uid"],
            },
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [wish]}]}} if zone else None,
        },
    }  # fmt: skip


@contextmanager
def provisioning(plane: ControlPlane) -> Iterator[Provisioner]:
    """Run a provisioner beside the test."""
    provisioner, over = Provisioner(plane), threading.Event()

    def work() -> None:
        while not over.wait(0.3):
            provisioner.look()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield provisioner
    finally:
        over.set()
        thread.join()
