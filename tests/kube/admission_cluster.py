"""A control plane with our admission policies, and what it says of objects."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from phalanx.kube.client import Client
from phalanx.kube.install import Installation, Values, objects
from phalanx.kube.installation.values import Admission
from phalanx.kube.local.control_plane import ControlPlane
from phalanx.kube.queue_crd import queue_crd
from phalanx.testing.control_plane import need_binaries
from phalanx.testing.objects import client_of, path_of
from phalanx.testing.running import eventually
from tests.kube.admission_table import TABLE, Manifest

OURS = Installation("phalanx", "phalanx-system")
REFUSED = "denied request: "


def policies(version: str, whose: Installation = OURS) -> list[Manifest]:
    """The policies of an installation, those that an API server of this version has."""
    admission = Admission(enabled=True, defaults=version != "1.35", gpus=version != "1.35")
    chosen = Values(scheduler_names=[whose.name], admission=admission)
    made = objects(Installation(whose.name, whose.namespace, chosen))
    return [one for one in made if one["metadata"]["labels"].get("app.kubernetes.io/component") == "admission"]


def applied(documents: list[Manifest]) -> str:
    return msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": documents}).decode()


@contextmanager
def with_policies() -> Iterator[ControlPlane]:
    """Yield a control plane with the Queue and the policies, in force."""
    need_binaries()
    with ControlPlane() as running:
        running.kubectl("apply", "-f", "-", stdin=applied([queue_crd()]))
        running.kubectl("wait", "--for=condition=Established", "crd/queues.scheduling.phalanx.dev")
        running.kubectl("create", "namespace", OURS.namespace)
        running.kubectl("create", "serviceaccount", OURS.name, "-n", OURS.namespace)
        running.kubectl("apply", "--validate=strict", "-f", "-", stdin=applied(policies(running.version)))
        # Each kind has a policy of its own, and the server takes them up one after the other.
        wrong = {one["kind"]: one for _, one, said in reversed(TABLE) if said}
        eventually("the policies are in force", lambda: all(said_of(running, list(wrong.values()))))
        yield running


def said_of(plane: ControlPlane, objects: list[Manifest]) -> list[str]:
    """What the API server says of each object if it were created; nothing where it takes it."""

    async def ask(client: Client, one: Manifest) -> str:
        reply = await client.request("POST", path_of(one), query={"dryRun": "All"}, body=msgspec.json.encode(one))
        if reply.ok:
            return ""
        start, _, sentence = reply.message.partition(REFUSED)
        assert f".{OURS.namespace}.phalanx.dev'" in start, reply.message
        return sentence

    async def ask_all() -> list[str]:
        async with client_of(plane.kubeconfig) as client:
            some = [objects[at : at + 16] for at in range(0, len(objects), 16)]
            return [said for part in some for said in await asyncio.gather(*(ask(client, one) for one in part))]

    return asyncio.run(ask_all())
