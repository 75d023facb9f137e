"""The manifests that give a user what a scheduler needs, and no more: `phalanx check --grant USER`."""

import re
from collections.abc import Iterable
from hashlib import sha256
from shlex import quote
from typing import Any

import yaml

from phalanx.kube.doctor.rights import Right, needed, printed
from phalanx.kube.doctor.wish import Wish

_RBAC = "rbac.authorization.k8s.io"
_ACCOUNT = "system:serviceaccount:"
_NO_NAME = re.compile(r"[^A-Za-z0-9.:@_-]")
_HOME = ("phalanx-system", "phalanx")


def grant_command(user: str, wish: Wish) -> str:
    """Return the line with which an administrator grants it."""
    namespace, name = wish.lease or _HOME
    options = [
        f"--grant {quote(user)}",
        "--dry-run" if wish.dry_run else "",
        f"--lease-namespace {namespace}" if namespace != _HOME[0] and not wish.dry_run else "",
        f"--lease-name {name}" if name != _HOME[1] and not wish.dry_run else "",
        f"--policy-config-map {'/'.join(wish.policy_config_map)}" if wish.policy_config_map else "",
    ]
    return f"phalanx check {' '.join(filter(None, options))} | kubectl apply -f -"


def grant(user: str, wish: Wish) -> str:
    """Return the manifests. With our own namespace, which a fresh cluster does not have; others are the user's own."""
    rights = needed(wish)
    namespaces = dict.fromkeys(right.namespace for right in rights)
    documents = [one for one in printed() if one["kind"] == "Namespace" and _HOME[0] in namespaces]
    for namespace in namespaces:
        documents += role(user, namespace, [right for right in rights if right.namespace == namespace])
    return yaml.safe_dump_all(documents, sort_keys=False, width=120)


def role(user: str, namespace: str, rights: Iterable[Right]) -> list[dict[str, Any]]:
    """Return a role and its binding, in one namespace or in the whole cluster."""
    kind = "Role" if namespace else "ClusterRole"
    metadata = {"name": _name(user)} | ({"namespace": namespace} if namespace else {})
    head = {"apiVersion": f"{_RBAC}/v1", "metadata": metadata}
    return [
        {"kind": kind, **head, "rules": _rules(rights)},
        {
            "kind": f"{kind}Binding", **head,
            "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": _name(user)}, "subjects": [_subject(user)],
        },
    ]  # fmt: skip


def _rules(rights: Iterable[Right]) -> list[dict[str, Any]]:
    verbs: dict[tuple[str, str, str], list[str]] = {}
    for right in rights:
        verbs.setdefault((right.group, right.resource, right.name), []).append(right.verb)
    return [
        {"apiGroups": [group], "resources": [resource], "verbs": found} | ({"resourceNames": [name]} if name else {})
        for (group, resource, name), found in verbs.items()
    ]


def _subject(user: str) -> dict[str, str]:
    if user.startswith(_ACCOUNT):
        namespace, _, name = user.removeprefix(_ACCOUNT).partition(":")
        return {"kind": "ServiceAccount", "namespace": namespace, "name": name}
    return {"apiGroup": _RBAC, "kind": "User", "name": user}


def _name(user: str) -> str:
    """Return a name of the user's own, so that nobody else's rights change."""
    plain = _NO_NAME.sub("-", user)
    mark = "" if plain == user else f"-{sha256(user.encode()).hexdigest()[:8]}"
    return f"phalanx-run:{plain}{mark}"
