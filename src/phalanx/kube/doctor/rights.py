"""The rights that a scheduler needs, from the manifests that give them; and which of them we have."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import yaml

from phalanx.kube.client import Client, Reply
from phalanx.kube.doctor.wish import Wish
from phalanx.kube.install import Installation, manifests

#: How many are asked for at a time. A server that is far away answers all of them within the second in which troubles
#: that begin together are told together.
_AT_ONCE = 8
#: Without these nothing is decided or nothing is carried out.
_BLOCKING = {"list", "watch"}


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """One verb on one resource."""

    group: str
    resource: str
    verb: str
    #: Empty: in the whole cluster.
    namespace: str = ""
    #: Empty: on every object.
    name: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.thing}"

    @property
    def thing(self) -> str:
        """Return what the verb is about."""
        full = f"{self.resource}.{self.group}" if self.group else self.resource
        if not self.namespace:
            return full
        return f"{full} {self.namespace}/{self.name}" if self.name else f"{full} in {self.namespace}"

    @property
    def reading(self) -> bool:
        """Tell whether a dry run needs it too."""
        return self.verb in _BLOCKING or (self.resource == "configmaps" and bool(self.name))

    @property
    def blocking(self) -> bool:
        """Tell whether a scheduler without it schedules nothing."""
        return self.verb in _BLOCKING or self.resource in {"pods/binding", "leases"}


class RightsUnknown(Exception):  # noqa: N818 (what happened, not a fault of ours)
    """The server does not say what we may do."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.message)
        self.reply = reply


def needed(wish: Wish) -> list[Right]:
    """Return every right that the manifests give, for this lease and this policy; for a dry run those to read."""
    # Reservations of shared devices are where the lease is.
    pods = (wish.lease[0], "") if wish.lease else None
    named = {"leases": wish.lease, "configmaps": wish.policy_config_map, "pods": pods}
    found: list[Right] = []
    for document in printed():
        if document["kind"] == "ClusterRole":
            found += _of(document["rules"])
        elif document["kind"] == "Role":
            # What has a namespace is named as the installation names it, and here as it was chosen.
            for right in _of(document["rules"]):
                place = named.get(right.resource)
                if place is not None:
                    name = place[1] if right.name else ""
                    found.append(Right(right.group, right.resource, right.verb, place[0], name))
    rights = list(dict.fromkeys(found))
    return [one for one in rights if one.reading] if wish.dry_run else rights


def printed() -> Iterator[dict[str, Any]]:
    """Yield the objects that `phalanx install --print` prints, but for the definition of Queues."""
    return yaml.load_all(manifests(Installation(), crds=False), yaml.CSafeLoader)


def _of(rules: Iterable[Mapping[str, Any]]) -> Iterator[Right]:
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames") or [""]:
                        yield Right(group, resource, verb, name=name)


async def missing(client: Client, rights: Iterable[Right]) -> list[Right]:
    """Return those of the rights that we do not have; raise `RightsUnknown` or `Unanswered`."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def may(right: Right) -> bool:
        async with slots:
            return await allowed(client, right)

    asked = list(rights)
    answers = await asyncio.gather(*map(may, asked))
    return [right for right, answer in zip(asked, answers, strict=True) if not answer]


async def allowed(client: Client, right: Right) -> bool:
    """Ask whether we have a right. Nothing is written: the server answers and forgets."""
    resource, _, part = right.resource.partition("/")
    attributes = {
        "verb": right.verb, "group": right.group, "version": "*", "resource": resource, "subresource": part,
        "namespace": right.namespace, "name": right.name,
    }  # fmt: skip
    reply = await client.request(
        "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        body=msgspec.json.encode({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
        }),
    )  # fmt: skip
    if not reply.ok:
        raise RightsUnknown(reply)
    return bool(reply.json()["status"]["allowed"])


def words(rights: Iterable[Right]) -> str:
    """Return rights as a person would list them: `list, watch nodes, namespaces; create pods/binding`."""
    verbs: dict[str, list[str]] = {}
    for right in rights:
        verbs.setdefault(right.thing, []).append(right.verb)
    things: dict[str, list[str]] = {}
    for thing, found in verbs.items():
        things.setdefault(", ".join(found), []).append(thing)
    return "; ".join(f"{verb} {', '.join(names)}" for verb, names in things.items())


def lacking(user: str, lacked: list[Right], needed_: list[Right], who: str) -> str:
    """Return the sentence about rights that are missing. `who`: what needs them."""
    if len(lacked) == len(needed_):
        return f"{user} has none of the rights that a {who} needs; an administrator can give them"
    return f"{user} may not {words(lacked)}; an administrator can give {'it' if len(lacked) == 1 else 'them'}"
