"""Whether somebody else serves our scheduler names: two who decide about one pod get in each other's way.

Seen with the rights of a scheduler alone: Phalanx's own pods say which lease and names they have, and of a pod that
waits the server remembers who wrote why.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from phalanx.kube.client import Client, Reply
from phalanx.kube.doctor.finding import Finding, failed, ok, unread, warning
from phalanx.kube.doctor.wish import Place
from phalanx.kube.policy_source import KEY
from phalanx.policy.load import PolicyError, parse_policy

ABOUT = "others"
#: Of a crowd of pods this many are looked at.
_PODS_MAX = "500"
_CONDITION = 'k:{"type":"PodScheduled"}'
#: Phalanx's own name in what the server remembers.
_OURS = "phalanx"
_IDENTITY = re.compile(r".+_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


async def look_at_neighbours(client: Client, names: Sequence[str], lease: Place | None, *, events: bool) -> Finding:
    """Say who else serves these names, as far as it can be seen. With events, which are many."""
    reply = await client.request("GET", "/api/v1/pods", query={"labelSelector": "app.kubernetes.io/part-of=phalanx"})
    if not reply.ok:
        return unread(ABOUT, reply)
    for pod in reply.json()["items"]:
        found = await _installation(client, pod)
        shared = sorted(found[1] & set(names)) if found and found[0] != lease else []
        if found and shared:
            theirs, where = "/".join(found[0]), pod["metadata"]["namespace"]
            says = f"another Phalanx in {where} serves {', '.join(shared)} under the lease {theirs}: both would bind"
            remedy = f"share its lease, so that one decides: --lease-namespace {found[0][0]} --lease-name {found[0][1]}"
            return failed(ABOUT, says, remedy)
    for name in names:
        reply = await client.request(
            "GET", "/api/v1/pods", query={"fieldSelector": f"spec.schedulerName={name}", "limit": _PODS_MAX}
        )
        stranger = (await _stranger(client, reply, events=events)) if reply.ok else None
        if stranger:
            remedy = f"take {name} out of that one's configuration, or another name into the policy's schedulerNames"
            return warning(ABOUT, f"{stranger}, which is for {name}: two who bind get in each other's way", remedy)
    return ok(ABOUT, f"nobody else is seen to serve {', '.join(names)}")


async def _installation(client: Client, pod: dict[str, Any]) -> tuple[Place, set[str]] | None:
    """Return the lease and the scheduler names of a pod that runs Phalanx."""
    if pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}:
        return None
    for container in pod["spec"]["containers"]:
        arguments = [*(container.get("command") or ()), *(container.get("args") or ())]
        if "run" in arguments:
            options = list(_options(arguments))
            found = dict(options)
            names = {value for option, value in options if option == "--scheduler-name"}
            names |= await _policy_names(client, found.get("--policy-config-map"))
            return (found.get("--lease-namespace", "phalanx-system"), found.get("--lease-name", "phalanx")), names
    return None


def _options(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield options with their values, whether written `--a=b` or `--a b`."""
    for at, argument in enumerate(arguments):
        option, equals, value = argument.partition("=")
        if option.startswith("--"):
            yield option, value if equals else "".join(arguments[at + 1 : at + 2])


async def _policy_names(client: Client, config_map: str | None) -> set[str]:
    if config_map is None:
        return {_OURS}
    namespace, _, name = config_map.partition("/")
    reply = await client.request("GET", f"/api/v1/namespaces/{namespace}/configmaps/{name}")
    try:
        return set(parse_policy(reply.json()["data"][KEY], config_map).scheduler_names) if reply.ok else set()
    except (PolicyError, KeyError, TypeError):
        return set()


async def _stranger(client: Client, reply: Reply, *, events: bool) -> str | None:
    """Return what somebody else was seen to do for pods with our scheduler name."""
    pods = {pod["metadata"]["uid"]: pod for pod in reply.json()["items"]}
    for pod in pods.values():
        wrote = {
            entry.get("manager"): entry.get("time", "")
            for entry in pod["metadata"].get("managedFields") or ()
            if _CONDITION in (entry.get("fieldsV1") or {}).get("f:status", {}).get("f:conditions", {})
        }
        # A scheduler that was replaced has left its mark; one that is still there writes after us.
        ours = wrote.pop(_OURS, "")
        for manager, time in wrote.items():
            if time >= ours:
                return f"{manager} said at {time} why pod {_name(pod)} waits"
    return await _binder(client, pods) if events and pods else None


async def _binder(client: Client, pods: dict[str, Any]) -> str | None:
    """Events are not among our rights; whoever may read them sees more."""
    query = {"fieldSelector": "reason=Scheduled", "limit": _PODS_MAX}
    events = await client.request("GET", "/api/v1/events", query=query)
    for event in events.json()["items"] if events.ok else ():
        pod = pods.get(event["involvedObject"].get("uid", ""))
        instance = event.get("reportingInstance") or event.get("source", {}).get("component") or ""
        if pod is not None and not _IDENTITY.fullmatch(instance):
            return f"a scheduler called {instance} bound pod {_name(pod)} at {event['metadata']['creationTimestamp']}"
    return None


def _name(pod: dict[str, Any]) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
