"""Our admission policies, with which the API server checks what people apply."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from phalanx.kube.client import Client
from phalanx.kube.doctor.finding import Finding, absent, ok, skipped, unread, warning
from phalanx.model.keys import SCHEDULER_NAME

ABOUT = "admission"
_SELECTOR = "app.kubernetes.io/part-of=phalanx,app.kubernetes.io/component=admission"
_ROOT = "/apis/admissionregistration.k8s.io/v1"
_KINDS = ("validatingadmissionpolic", "mutatingadmissionpolic")


async def look_at_admission(client: Client, remedy: str, schedulers: Sequence[str]) -> Finding:
    """Say whether the policies are there and in force, also for namespaces that name one of our schedulers."""
    policies: list[Mapping[str, Any]] = []
    bound: dict[str, Mapping[str, Any]] = {}
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
        bound |= {binding["spec"]["policyName"]: binding["spec"] for binding in bindings}
    loose = [name for name in map(_name, policies) if name not in bound]
    if loose:
        return warning(ABOUT, f"{', '.join(loose)}: not in force, nothing binds it", remedy)
    return await _left_over(client, bound) or await _not_given(client, policies, schedulers) or _there(policies, remedy)


def _there(policies: Sequence[Mapping[str, Any]], remedy: str) -> Finding:
    if not policies:
        return absent(ABOUT, "no policies: typing errors are told after an object was accepted, not before", remedy)
    short = sorted(_name(policy).partition(".")[0] for policy in policies)
    return ok(ABOUT, f"in force: {', '.join(short)}")


async def _left_over(client: Client, bound: Mapping[str, Mapping[str, Any]]) -> Finding | None:
    """Find a policy whose parameter, the scheduler's service account, is gone."""
    for name, binding in bound.items():
        account = binding.get("paramRef", {})
        if not account.get("name"):
            continue
        path = f"/api/v1/namespaces/{account['namespace']}/serviceaccounts/{account['name']}"
        if (await client.request("GET", path)).status == 404:
            says = f"{name}: left over, the scheduler that it is for is not installed any more"
            kinds = "mutatingadmissionpolicy,mutatingadmissionpolicybinding"
            return warning(ABOUT, says, f"kubectl delete {kinds} {name}")
    return None


async def _not_given(
    client: Client, policies: Iterable[Mapping[str, Any]], schedulers: Sequence[str]
) -> Finding | None:
    """Find namespaces that name a scheduler of ours which no policy gives to their pods."""
    query = {"labelSelector": f"{SCHEDULER_NAME} in ({','.join(schedulers)})"}
    reply = await client.request("GET", "/api/v1/namespaces", query=query)
    given = {name for policy in policies for name in _gives(policy)}
    labelled = [one["metadata"] for one in reply.json()["items"]] if reply.ok else []
    lonely = [one for one in labelled if one["labels"][SCHEDULER_NAME] not in given]
    if not lonely:
        return None
    first, more = lonely[0], len(lonely) - 1
    others = f" and {more} more" if more else ""
    says = (
        f"namespace {first['name']}{others}: labelled {SCHEDULER_NAME}={first['labels'][SCHEDULER_NAME]}, "
        "and no policy gives that to its pods"
    )
    return warning(ABOUT, says, "install with admission.defaults (Kubernetes 1.36 and newer), or name it in the pods")


def _gives(policy: Mapping[str, Any]) -> Iterable[str]:
    """Return the scheduler names that a policy gives to the pods of namespaces with such a label."""
    selector = policy["spec"]["matchConstraints"].get("namespaceSelector", {})
    rows = selector.get("matchExpressions", ())
    return [name for row in rows if row["key"] == SCHEDULER_NAME for name in row["values"]]


def _name(policy: Mapping[str, Any]) -> str:
    return str(policy["metadata"]["name"])
