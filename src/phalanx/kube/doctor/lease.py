"""The lease: who holds it, and whether somebody who starts now will decide or follow."""

from datetime import datetime
from typing import Any

from phalanx.kube.client import Client, Reply
from phalanx.kube.doctor.finding import Finding, failed, ok, skipped, unread, warning
from phalanx.kube.doctor.rights import Right, RightsUnknown, allowed
from phalanx.kube.doctor.wish import Place

ABOUT = "lease"


async def look_at_lease(client: Client, lease: Place) -> Finding:
    """Say who holds the lease, or why nobody can."""
    namespace, name = lease
    reply = await client.request("GET", f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}")
    if reply.ok:
        return _held(f"{namespace}/{name}", reply)
    if reply.status == 403:
        return skipped(ABOUT, f"{namespace}/{name} may not be read by this user")
    if reply.status != 404:
        return unread(ABOUT, reply)
    namespaces = await client.request(
        "GET", "/api/v1/namespaces", query={"fieldSelector": f"metadata.name={namespace}"}
    )
    if namespaces.ok and not namespaces.json()["items"]:
        return await _no_namespace(client, namespace)
    return ok(ABOUT, f"{namespace}/{name} is free: nobody ever held it")


async def _no_namespace(client: Client, namespace: str) -> Finding:
    try:
        may = await allowed(client, Right("", "namespaces", "create"))
    except RightsUnknown as unknown:
        return unread(ABOUT, unknown.reply)
    if may:
        return ok(ABOUT, f"its namespace {namespace} does not exist yet; phalanx run makes it")
    why = f"its namespace {namespace} does not exist, and we may not make it"
    return failed(ABOUT, why, f"kubectl create namespace {namespace}")


def _held(lease: str, reply: Reply) -> Finding:
    spec: dict[str, Any] = reply.json().get("spec") or {}
    holder, now = spec.get("holderIdentity"), reply.given_at
    if not holder:
        return ok(ABOUT, f"{lease} is free: the last holder gave it back")
    try:
        renewed = datetime.fromisoformat(spec["renewTime"]).timestamp()
    except (KeyError, ValueError, TypeError):
        renewed = 0.0
    if now is None or renewed + (spec.get("leaseDurationSeconds") or 15) < now:
        return ok(ABOUT, f"{lease} ran out: {holder} renewed it last at {spec.get('renewTime')} and is gone")
    says = f"{lease} is held by {holder}: another phalanx run follows it, and decides only when that one ends"
    remedy = "nothing if this is to be a replica of it; else give --lease-name and schedulerNames of its own"
    return warning(ABOUT, says, remedy)
