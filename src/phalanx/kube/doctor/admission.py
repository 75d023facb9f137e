"""Our admission policies, with which the API server checks what people apply."""

from collections.abc import Mapping
from typing import Any

from phalanx.kube.client import Client
from phalanx.kube.doctor.finding import Finding, absent, ok, skipped, unread, warning

ABOUT = "admission"
_SELECTOR = "app.kubernetes.io/part-of=phalanx,app.kubernetes.io/component=admission"
_ROOT = "/apis/admissionregistration.k8s.io/v1"
_KINDS = ("validatingadmissionpolic", "mutatingadmissionpolic")


async def look_at_admission(client: Client, remedy: str) -> Finding:
    """Say whether the policies are there and in force."""
    policies: list[Mapping[str, Any]] = []
    bound: set[str] = set()
    for kind in _KINDS:
        replies = [
            await client.request("GET", f"{_ROOT}/{kind}{plural}", query={"labelSelector": _SELECTOR})
            for plural in ("ies", "ybindings")
        ]
        for reply in replies:
            if reply.status == 403:
                return skipped(ABOUT, "this user may not see it, and a scheduler need not")
            # Older servers have no policies that change objects.
            if not (reply.ok or reply.status == 404):
                return unread(ABOUT, reply)
        found, bindings = (reply.json()["items"] if reply.ok else [] for reply in replies)
        policies += found
        bound |= {binding["spec"]["policyName"] for binding in bindings}
    if not policies:
        return absent(ABOUT, "no policies: typing errors are told after an object was accepted, not before", remedy)
    loose = [name for name in map(_name, policies) if name not in bound]
    if loose:
        return warning(ABOUT, f"{', '.join(loose)}: not in force, nothing binds it", remedy)
    short = sorted(_name(policy).partition(".")[0] for policy in policies)
    return ok(ABOUT, f"in force: {', '.join(short)}")


def _name(policy: Mapping[str, Any]) -> str:
    return str(policy["metadata"]["name"])
