"""Users of a control plane who may nearly everything that a scheduler needs."""

import json
from collections.abc import Callable
from pathlib import Path

from phalanx.kube.doctor.rights import Right, needed
from phalanx.kube.doctor.wish import Wish
from phalanx.kube.local import ControlPlane


def user_who_may(plane: ControlPlane, name: str, right: Callable[[Right], bool] = lambda _: True) -> Path:
    """Return the kubeconfig of a new user with those rights of a scheduler, in every namespace."""
    given = [one for one in needed(Wish()) if right(one)]
    rules = [{"apiGroups": [one.group], "resources": [one.resource], "verbs": [one.verb]} for one in given]
    group = "rbac.authorization.k8s.io"
    head = {"apiVersion": f"{group}/v1", "metadata": {"name": name}}
    role = {**head, "kind": "ClusterRole", "rules": rules}
    binding = {
        **head, "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": name}],
    }  # fmt: skip
    plane.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [role, binding]}))
    return plane.user(name)
