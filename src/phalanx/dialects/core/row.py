"""The row of Kubernetes' own objects."""

from functools import partial

from phalanx.dialects.core import budgets, objects, pod_objects, priority_classes, services
from phalanx.dialects.core.holds import holds
from phalanx.dialects.core.nodes import read_namespace, read_node
from phalanx.dialects.core.storage_kinds import KINDS as STORAGE
from phalanx.dialects.dialect import Dialect, Kind, Version, Wishes
from phalanx.dialects.mistakes import Mistakes
from phalanx.model.events import (
    BudgetGone,
    NamespaceGone,
    NodeGone,
    NodeSeen,
    PriorityClassGone,
    ServiceGone,
    TaskGone,
)

#: The cluster autoscaler's word for a pod that must not be put elsewhere.
_SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"

_kind = partial(Kind, optional=False, qualified=False)


def _wishes(pod: pod_objects.Pod, alone: bool, priority: int, mistakes: Mistakes) -> Wishes | None:
    del alone, priority, mistakes
    annotations = pod.metadata.annotations
    return Wishes(movable=False) if annotations and annotations.get(_SAFE_TO_EVICT) == "false" else None


CORE = Dialect(
    name="core",
    kinds=(
        _kind(
            kind="Node",
            plural="nodes",
            namespaced=False,
            versions=(Version("v1", objects.Node, lambda node: NodeSeen(read_node(node))),),
            gone=lambda node, _: NodeGone(node.name),
        ),
        _kind(
            kind="Namespace",
            plural="namespaces",
            namespaced=False,
            versions=(Version("v1", objects.Namespace, read_namespace),),
            gone=lambda namespace, _: NamespaceGone(namespace.name),
        ),
        _kind(
            kind="Pod",
            plural="pods",
            versions=(Version("v1", pod_objects.Pod, None),),
            gone=lambda _, uid: TaskGone(uid),
        ),
        _kind(
            kind="PriorityClass",
            group=priority_classes.GROUP,
            plural="priorityclasses",
            namespaced=False,
            versions=(
                Version("v1", priority_classes.PriorityClass, priority_classes.read_class),
                # No release that is served still has these, and files do.
                Version("v1beta1", priority_classes.PriorityClass, priority_classes.read_class, watched=False),
                Version("v1alpha1", priority_classes.PriorityClass, priority_classes.read_class, watched=False),
            ),
            gone=lambda class_, _: PriorityClassGone(class_.name),
        ),
        _kind(
            kind="PodDisruptionBudget",
            group=budgets.GROUP,
            plural="poddisruptionbudgets",
            versions=(Version("v1", budgets.PodDisruptionBudget, budgets.read_budget),),
            gone=lambda budget, uid: BudgetGone(budget.full_name, uid),
            awaited=True,
        ),
        _kind(
            kind="Service",
            plural="services",
            versions=(Version("v1", services.Service, services.read_service),),
            gone=lambda service, _: ServiceGone(service.full_name),
            asked=True,
            # Who may not see them has an honest decision all the same.
            optional=True,
        ),
        *STORAGE,
    ),
    wishes=_wishes,
    holds=holds,
)
