"""The API server: whether it answers, which version it is, and whom it takes us for."""

import re
from dataclasses import dataclass

from phalanx.kube.client import Client, Unanswered
from phalanx.kube.clock import Clock, stamp
from phalanx.kube.credentials import Access, AccessError
from phalanx.kube.doctor.certificate import certificate_dates, token_end
from phalanx.kube.doctor.clock import look_at_clock
from phalanx.kube.doctor.finding import Finding, failed, faulty, ok, unread, warning
from phalanx.kube.fault import Fault, Trouble, refused, silent
from phalanx.kube.kinds import KUBERNETES
from phalanx.kube.tls import bytes_of

SERVER, IDENTITY = "server", "identity"
_VERSION = re.compile(r"v?(\d+\.\d+)\b")
_ELSEWHERE = "start the API server, or name another cluster with --kubeconfig and --context"
_RENEW = "get a kubeconfig with fresh credentials, as from `kubeadm kubeconfig user` or your cloud's login command"


@dataclass(frozen=True, slots=True)
class User:
    """Whom the server takes us for."""

    name: str
    groups: tuple[str, ...]


async def look_at_server(client: Client, access: Access, clock: Clock) -> list[Finding]:
    """Say whether the server answers and knows us, its version and its clock."""
    asked = clock.now()
    try:
        reply = await client.request("GET", "/version", timeout=10.0)
    except Unanswered as silence:
        return [_unanswered(access, silent(silence))]
    if reply.ok:
        return [_version(access, str(reply.json()["gitVersion"])), look_at_clock(reply, asked, clock.now())]
    if reply.status != 401:
        return [faulty(SERVER, refused(reply), _ELSEWHERE)]
    unknown = faulty(IDENTITY, refused_credentials(refused(reply), access, clock.now()), _RENEW)
    return [ok(SERVER, f"{access.server} answers"), look_at_clock(reply, asked, clock.now()), unknown]


def _unanswered(access: Access, fault: Fault) -> Finding:
    if fault.trouble is Trouble.CREDENTIALS:
        return failed(IDENTITY, fault.why, "mend the user in the kubeconfig, or name another with --context")
    return failed(SERVER, f"{access.server}: {fault.why}", fault.remedy or _ELSEWHERE)


def _version(access: Access, found: str) -> Finding:
    says = f"{access.server} is Kubernetes {found}"
    minor = _VERSION.match(found)
    if minor is not None and minor[1] in KUBERNETES:
        return ok(SERVER, says)
    allowed = ", ".join(KUBERNETES)
    return warning(SERVER, f"{says}: this Phalanx is tried on {allowed}", f"use a cluster of one of {allowed}")


async def look_at_identity(client: Client, access: Access, now: float) -> tuple[Finding, User | None]:
    """Ask whom the server takes us for. Nothing is written: it answers and forgets."""
    body = b'{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}'
    reply = await client.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=body)
    if reply.ok:
        info = reply.json()["status"]["userInfo"]
        user = User(info["username"], tuple(info.get("groups") or ()))
        return ok(IDENTITY, f"{user.name}, in {', '.join(user.groups)}"), user
    if reply.status == 403 and '"system:anonymous"' in reply.message:
        return failed(IDENTITY, "the server takes us for anybody: no credentials were shown", _RENEW), None
    if reply.status == 401:
        return faulty(IDENTITY, refused_credentials(refused(reply), access, now), _RENEW), None
    return unread(IDENTITY, reply), None


def refused_credentials(fault: Fault, access: Access, now: float) -> Fault:
    """Return a fault about credentials with what can be seen on them: mostly that they ran out."""
    if fault.trouble is not Trouble.CREDENTIALS:
        return fault
    why = _out_of_date(access, now) or fault.why
    return Fault(fault.trouble, why, fault.remedy or _RENEW, fault.hopeless, fault.blocking)


def _out_of_date(access: Access, now: float) -> str | None:
    shown = access.shown
    if shown.pair is not None:
        try:
            dates = certificate_dates(bytes_of(shown.pair.certificate, shown.pair.name))
        except AccessError as error:
            return str(error)
        if dates is not None and now > dates[1]:
            return f"{shown.pair.name}: its client certificate expired at {stamp(dates[1])}"
        if dates is not None and now < dates[0]:
            return f"{shown.pair.name}: its client certificate is good only from {stamp(dates[0])}"
    end = token_end(shown.authorization or "")
    return f"the token expired at {stamp(end)}" if end is not None and now > end else None
