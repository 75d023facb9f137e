"""Every kind that is watched, and the version in which this cluster has it."""

from collections.abc import Iterator

from phalanx.kube.client import Client, Reply
from phalanx.kube.doctor.finding import Finding, absent, failed, ok
from phalanx.kube.kinds import KUBERNETES, Kind, watched

_AWAY = "mend what serves that group: kubectl get apiservices"


async def look_at_kinds(client: Client) -> list[Finding]:
    """Return a finding for each kind."""
    kinds = watched()
    roots = {_root(version): None for kind in kinds for version in _versions(kind)}
    served = {root: await client.request("GET", root) for root in roots}
    return [_finding(kind, served) for kind in kinds]


def _finding(kind: Kind, served: dict[str, Reply]) -> Finding:
    for version in _versions(kind):
        reply = served[_root(version)]
        plural = version.path.rpartition("/")[2]
        if reply.ok and any(one["name"] == plural for one in reply.json()["resources"]):
            return ok(kind.kind, f"read as {version.api_version}")
        if not (reply.ok or reply.status == 404):
            return failed(kind.kind, f"{version.api_version}: the API server answers {reply.message}", _AWAY)
    allowed = ", ".join(version.api_version for version in _versions(kind))
    if kind.optional:
        return absent(kind.kind, f"{allowed}: not served, and not needed")
    return failed(kind.kind, f"not served, allowed is {allowed}", f"use Kubernetes {', '.join(KUBERNETES)}")


def _versions(kind: Kind) -> Iterator[Kind]:
    """Yield a kind in every version, newest first."""
    yield kind
    if kind.older:
        yield from _versions(kind.older)


def _root(version: Kind) -> str:
    return version.path.rpartition("/")[0]
