"""The hands of the controller: each write of a step as requests to the API server. All of them may be made twice."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from phalanx.controllers.volcano import steps
from phalanx.controllers.volcano.keys import pair
from phalanx.controllers.volcano.seen import MARK
from phalanx.controllers.volcano.status import Status, written
from phalanx.controllers.volcano.store import COMMANDS, GROUPS, JOBS, PODS, Store
from phalanx.kube.client import Client, Reply

CONTENT = "application/merge-patch+json"
#: Requests at a time, for all Jobs: binds of the same process must not wait behind them.
AT_ONCE = 24
_PLURALS = {
    "Pod": "pods", "PodGroup": "podgroups", "PersistentVolumeClaim": "persistentvolumeclaims", "Secret": "secrets",
    "ConfigMap": "configmaps", "Service": "services", "NetworkPolicy": "networkpolicies",
}  # fmt: skip
_KINDS = {"Pod": PODS, "PodGroup": GROUPS}


class Undone(Exception):  # noqa: N818 (what happened; it is tried again)
    """A write was refused. The text is for people."""

    def __init__(self, text: str, wait: float = 0.0) -> None:
        super().__init__(text)
        self.wait = wait


class Fenced(Exception):  # noqa: N818
    """We do not lead any more: nothing is written."""


class Hands:
    """Carries out steps."""

    def __init__(self, client: Client, store: Store, fence: Callable[[], bool]) -> None:
        self._client, self._store, self._fence = client, store, fence
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def carry_out(self, uid: str, document: Mapping[str, Any], writes: tuple[steps.Write, ...]) -> None:
        """Do all of it: pods together, everything else in its order. Raise the first trouble, once all were tried."""
        for write in writes:
            if not isinstance(write, steps.DeletePod) and not _is_pod(write):
                await self._one(uid, document, write)
        pods = [write for write in writes if isinstance(write, steps.DeletePod) or _is_pod(write)]
        answers = await asyncio.gather(*(self._one(uid, document, write) for write in pods), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer

    async def write_status(self, document: Mapping[str, Any], status: Status) -> bool:
        """Write the status of the Job as it was seen; False: it has changed meanwhile."""
        path = f"{_of(document, 'jobs')}/{document['metadata']['name']}"
        body = msgspec.json.encode({**document, "status": written(status)})
        reply = await self.ask("PUT", f"{path}/status", body)
        if reply.status in {404, 409}:
            await self.read_job(document)
            return False
        self._store.put(JOBS, msgspec.Raw(sound(reply)))
        return True

    async def read_job(self, document: Mapping[str, Any]) -> None:
        """Read the Job again."""
        meta = document["metadata"]
        reply = await self.ask("GET", f"{_of(document, 'jobs')}/{meta['name']}")
        if reply.status == 404 or (reply.ok and reply.json()["metadata"]["uid"] != meta["uid"]):
            self._store.forget(JOBS, meta["uid"])
        else:
            self._store.put(JOBS, msgspec.Raw(sound(reply)))

    async def read_pods(self, uid: str, document: Mapping[str, Any]) -> None:
        """Read the pods of a Job from the server, not from what it has told so far."""
        meta = document["metadata"]
        query = {"labelSelector": f"{PODS.selector}={meta['name']}"}
        path = f"/api/v1/namespaces/{meta['namespace']}/pods"
        reply = await self.ask("GET", path, query=query)
        for pod in msgspec.json.decode(sound(reply), type=_Page).items:
            self._store.put(PODS, pod, listed=True)
        del uid

    async def _one(self, uid: str, document: Mapping[str, Any], write: steps.Write) -> None:
        match write:
            case steps.Create():
                await self._create(uid, document, write)
            case steps.ChangeGroup():
                path = f"{_of(document, 'podgroups')}/{write.group.name}"
                body = {"metadata": {"uid": write.group.uid}, **write.patch}
                reply = await self.ask("PATCH", path, msgspec.json.encode(body), kind=CONTENT)
                if reply.status in {404, 409}:
                    self._store.forget(GROUPS, write.group.uid)
                else:
                    self._store.put(GROUPS, msgspec.Raw(sound(reply)))
            case steps.DeletePod():
                await self._delete_pod(uid, document, write)
            case steps.DeleteGroup():
                path = f"{_of(document, 'podgroups')}/{write.group.name}"
                await self._delete(path, write.group.uid)
                self._store.forget(GROUPS, write.group.uid)
            case steps.Discard():
                await self._discard(uid, write.object)
            case steps.DeleteCommand():
                await self._delete(f"{_of(document, 'commands')}/{write.command.name}", write.command.uid)
                self._store.forget(COMMANDS, write.command.uid)
            case steps.DeleteJob():
                path = f"{_of(document, 'jobs')}/{document['metadata']['name']}"
                await self._delete(path, uid, propagationPolicy="Foreground")
                await self.read_job(document)

    async def _create(self, uid: str, document: Mapping[str, Any], write: steps.Create) -> None:
        made = {**write.object, "metadata": {k: v for k, v in write.object["metadata"].items() if k != "uid"}}
        if made["kind"] == "Secret" and "id_rsa" not in made["stringData"]:
            private, public = await asyncio.to_thread(pair)
            keys = {"id_rsa": private, "id_rsa.pub": public, "authorized_keys": public}
            made["stringData"] = {**made["stringData"], **keys}
        path, known = _of(made, _PLURALS[made["kind"]]), _KINDS.get(made["kind"])
        reply = await self.ask("POST", path, msgspec.json.encode(made))
        if reply.status == 409:
            reply = await self.ask("GET", f"{path}/{made['metadata']['name']}")
            if reply.status == 404:
                raise Undone(f"{_called(made)} was there a moment ago", 0.1)
            there = msgspec.json.decode(sound(reply))
            if not _belongs(there, uid):
                raise Undone(f"{_called(made)} is there already and is not this Job's: it waits until that one is gone")
            if write.exact and there.get("data") != made["data"]:
                body = msgspec.json.encode({**there, "data": made["data"]})
                sound(await self.ask("PUT", f"{path}/{made['metadata']['name']}", body))
        elif not reply.ok:
            raise _undone(f"{_called(made)} cannot be made", reply)
        if known is not None:
            self._store.put(known, msgspec.Raw(reply.body))
        del document

    async def _delete_pod(self, uid: str, document: Mapping[str, Any], write: steps.DeletePod) -> None:
        pod = write.pod
        path = f"/api/v1/namespaces/{document['metadata']['namespace']}/pods/{pod.name}"
        if write.mark:
            body = {"metadata": {"uid": pod.uid, "annotations": {MARK: "true"}}}
            reply = await self.ask("PATCH", path, msgspec.json.encode(body), kind=CONTENT)
            if reply.ok:
                self._store.put(PODS, msgspec.Raw(reply.body))
            elif reply.status not in {404, 409}:
                raise _undone(f"pod {pod.name} cannot be marked", reply)
        gone = await self._delete(path, pod.uid)
        if gone:
            self._store.forget(PODS, pod.uid)
        else:
            self._store.leaves(uid, pod)

    async def _discard(self, uid: str, one: steps.Object) -> None:
        path = f"{_of(one, _PLURALS[one['kind']])}/{one['metadata']['name']}"
        reply = await self.ask("GET", path)
        if reply.status == 404:
            return
        there = msgspec.json.decode(sound(reply))
        if _belongs(there, uid):
            await self._delete(path, there["metadata"]["uid"])

    async def _delete(self, path: str, uid: str, **options: str) -> bool:
        """Delete an object if it is still this one; tell whether it is known to be gone."""
        body = msgspec.json.encode({"preconditions": {"uid": uid}, **options})
        reply = await self.ask("DELETE", path, body)
        if reply.status in {404, 409}:
            return True
        sound(reply)
        return False

    async def ask(
        self, method: str, path: str, body: bytes | None = None, *, kind: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Reply:  # fmt: skip
        """Ask once, if we may."""
        async with self._slots:
            # Asked last: whoever waited for a slot may have lost the lease there.
            if not self._fence():
                raise Fenced
            reply = await self._client.request(method, path, body=body, content_type=kind, query=query)
        if reply.status == 429:
            raise Undone(reply.message, reply.retry_after)
        return reply


class _Page(msgspec.Struct):
    items: list[msgspec.Raw]


def _is_pod(write: steps.Write) -> bool:
    return isinstance(write, steps.Create) and write.object["kind"] == "Pod"


def _belongs(there: Mapping[str, Any], uid: str) -> bool:
    owners = there["metadata"].get("ownerReferences") or ()
    return any(one.get("uid") == uid for one in owners)


def _of(one: Mapping[str, Any], plural: str) -> str:
    """Return where such objects are, in the namespace of this one."""
    versions = {"jobs": JOBS.api_version, "podgroups": GROUPS.api_version, "commands": COMMANDS.api_version}
    version = versions.get(plural) or one["apiVersion"]
    root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    return f"{root}/namespaces/{one['metadata']['namespace']}/{plural}"


def _called(one: Mapping[str, Any]) -> str:
    return f"{one['kind']} {one['metadata']['name']}"


def sound(reply: Reply) -> bytes:
    """Return what an answer says, or raise what was refused."""
    if not reply.ok:
        raise Undone(reply.message, reply.retry_after if reply.status == 429 else 0.0)
    return reply.body


def _undone(what: str, reply: Reply) -> Undone:
    return Undone(f"{what}: {reply.message}", reply.retry_after if reply.status == 429 else 0.0)
