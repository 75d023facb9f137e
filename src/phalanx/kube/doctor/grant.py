"""The manifests that give a user what a scheduler needs, and no more: `phalanx check --grant USER`."""

import re
from collections.abc import Iterable
from hashlib import sha256
from shlex import quote
from typing import Any

import yaml

from phalanx.kube.doctor.rights import Right, needed, printed
from phalanx.kube.doctor.wish import Place

_RBAC = "rbac.authorization.k8s.io"
_ACCOUNT = "system:serviceaccount:"
_NO_NAME = re.compile(r"[^A-Za-z0-9.:@_-]")
_DEFAULT = "phalanx-system"


def grant_command(user: str, lease: Place | None, policy_config_map: Place | None) -> str:
    """Return the line with which an administrator grants it."""
    options = [f"--grant {quote(user)}"]
    if lease is not None and lease[0] != _DEFAULT:
        options.append(f"--lease-namespace {lease[0]}")
    if lease is not None and lease[1] != "phalanx":
        options.append(f"--lease-name {lease[1]}")
    if policy_config_map is not None:
        options.append(f"--policy-config-map {'/'.join(policy_config_map)}")
    return f"phalanx check {' '.join(options)} | kubectl apply -f -"


def grant(user: str, lease: Place, policy_config_map: Place | None) -> str:
    """Return the manifests. With our own namespace, which a fresh cluster does not have; others are the user's own."""
    rights = needed(lease, policy_config_map)
    namespaces = dict.fromkeys(right.namespace for right in rights)
    documents = [one for one in printed() if one["kind"] == "Namespace" and _DEFAULT in namespaces]
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
