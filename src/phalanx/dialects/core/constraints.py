"""What a pod demands of its node and of its neighbours, as values of the model."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeAlias

from phalanx.dialects.core import objects, pod_objects
from phalanx.dialects.core.requests import is_sidecar
from phalanx.dialects.mistakes import Mistakes, one_of
from phalanx.model.image import ImageWish
from phalanx.model.quantity import shown
from phalanx.model.selectors import (
    HostPort,
    LabelSelector,
    NodeTerm,
    Preference,
    Requirement,
    Toleration,
    integer,
)

_Operators: TypeAlias = dict[str, tuple[int, int | None]]
#: Operator -> how few and how many values it takes.
_LABEL_OPERATORS: _Operators = {"In": (1, None), "NotIn": (1, None), "Exists": (0, 0), "DoesNotExist": (0, 0)}
_NODE_OPERATORS: _Operators = {**_LABEL_OPERATORS, "Gt": (1, 1), "Lt": (1, 1)}
_FIELD_OPERATORS: _Operators = {"In": (1, 1), "NotIn": (1, 1)}

_TOLERATION_OPERATORS = ("Exists", "Equal", "Lt", "Gt")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_PROTOCOLS = ("TCP", "UDP", "SCTP")

#: Features of nodes, in the order of their names.
_RESTART_ALL = "RestartAllContainersOnContainerExits"
_USERS_ON_HOST_NETWORK = "UserNamespacesHostNetworkSupport"

_NODE = "spec.affinity.nodeAffinity"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def tolerations(listed: list[pod_objects.Toleration] | None, mistakes: Mistakes) -> tuple[Toleration, ...]:
    """Return the tolerations, each once and in one order, so that equal sets make equal shapes."""
    found = set()
    for index, one in enumerate(listed or ()):
        path = f"spec.tolerations[{index}]"
        key, operator, value, effect = one.key or "", one.operator or "Equal", one.value or "", one.effect or ""
        if operator not in _TOLERATION_OPERATORS:
            mistakes.note(f"{path}.operator", one_of(operator, _TOLERATION_OPERATORS))
        elif effect and effect not in _EFFECTS:
            mistakes.note(f"{path}.effect", one_of(effect, _EFFECTS))
        elif not key and operator != "Exists":
            mistakes.note(f"{path}.key", f"found none with {operator}, allowed is none only with Exists")
        elif operator in {"Lt", "Gt"} and integer(value) is None:
            mistakes.note(f"{path}.value", f"found {shown(value)}, allowed with {operator} is a whole number")
        else:
            found.add((key, operator, "" if operator == "Exists" else value, effect))
    return tuple(Toleration(*one) for one in sorted(found))


def node_selector(selector: objects.Strings) -> NodeTerm | None:
    """Return spec.nodeSelector as a term, or None where there is none."""
    if not selector:
        return None
    return NodeTerm(tuple(Requirement(key, "In", (value,)) for key, value in sorted(selector.items())))


def node_terms(affinity: pod_objects.Affinity | None, mistakes: Mistakes) -> tuple[NodeTerm, ...] | None:
    """Return the required node affinity: one of the terms must match."""
    node = affinity.node_affinity if affinity else None
    if node is None or node.required is None:
        return None
    path = f"{_NODE}.{_REQUIRED}.nodeSelectorTerms"
    listed = enumerate(node.required.node_selector_terms or ())
    return tuple(node_term(term, f"{path}[{index}]", mistakes) for index, term in listed)


def preferences(affinity: pod_objects.Affinity | None, mistakes: Mistakes) -> tuple[Preference, ...]:
    """Return the preferred node affinity. An empty term prefers nothing."""
    node = affinity.node_affinity if affinity else None
    found = []
    for index, one in enumerate((node.preferred if node else None) or ()):
        path = f"{_NODE}.{_PREFERRED}[{index}].preference"
        term = node_term(one.preference or pod_objects.NodeTerm(), path, mistakes)
        if term != NodeTerm():
            found.append(Preference(one.weight, term))
    return tuple(found)


def node_term(term: pod_objects.NodeTerm, path: str, mistakes: Mistakes) -> NodeTerm:
    """Return a term over labels and names of nodes."""
    labels = _requirements(term.match_expressions, f"{path}.matchExpressions", _NODE_OPERATORS, mistakes)
    listed = f"{path}.matchFields"
    fields = []
    for index, requirement in _indexed(term.match_fields, listed, _FIELD_OPERATORS, mistakes):
        if requirement.key == "metadata.name":
            fields.append(requirement)
        else:
            mistakes.note(f"{listed}[{index}].key", one_of(requirement.key, ("metadata.name",)))
    return NodeTerm(labels, tuple(fields))


def label_selector(selector: objects.Selector | None, path: str, mistakes: Mistakes) -> LabelSelector | None:
    """Return a label selector. None matches nothing, an empty one everything."""
    if selector is None:
        return None
    labels = sorted((selector.match_labels or {}).items())
    exact = tuple(Requirement(key, "In", (value,)) for key, value in labels)
    more = _requirements(selector.match_expressions, f"{path}.matchExpressions", _LABEL_OPERATORS, mistakes)
    return LabelSelector(exact + more)


def _requirements(
    listed: list[objects.Expression] | None, path: str, operators: _Operators, mistakes: Mistakes
) -> tuple[Requirement, ...]:
    return tuple(requirement for _, requirement in _indexed(listed, path, operators, mistakes))


def _indexed(
    listed: Iterable[objects.Expression] | None, path: str, operators: _Operators, mistakes: Mistakes
) -> Iterator[tuple[int, Requirement]]:
    """Yield the expressions that can be understood, with their places."""
    for index, one in enumerate(listed or ()):
        here, operator, values = f"{path}[{index}]", one.operator or "", one.values or []
        if operator not in operators:
            mistakes.note(f"{here}.operator", one_of(operator, tuple(operators)))
            continue
        few, many = operators[operator]
        if not one.key:
            mistakes.note(f"{here}.key", "missing")
        elif len(values) < few or (many is not None and len(values) > many):
            allowed = "at least one" if many is None else f"exactly {many}" if many else "none"
            mistakes.note(f"{here}.values", f"found {len(values)} values, allowed with {operator} is {allowed}")
        else:
            yield index, Requirement(one.key, operator, tuple(sorted(set(values))))


def features(spec: pod_objects.PodSpec) -> tuple[str, ...]:
    """Return what the node must declare that it can do, as Kubernetes infers it from the spec."""
    found = []
    for container in (*(spec.containers or ()), *(spec.init_containers or ())):
        if any(rule.action == "RestartAllContainers" for rule in container.restart_policy_rules or ()):
            found.append(_RESTART_ALL)
            break
    if spec.host_network and spec.host_users is False:
        found.append(_USERS_ON_HOST_NETWORK)
    return tuple(found)


def images(spec: pod_objects.PodSpec) -> ImageWish | None:
    """Return the images that the containers start from, and those that volumes show, by the names that nodes use."""
    containers = (*(spec.init_containers or ()), *(spec.containers or ()))
    named = [one.image for one in containers]
    named += [volume.image.reference for volume in spec.volumes or () if volume.image is not None]
    names = tuple(name for name in named if name)
    return _images(names, len(containers)) if names else None


@lru_cache(maxsize=8192)
def _images(names: tuple[str, ...], containers: int) -> ImageWish:
    """Return a wish. The pods of a template say the same, so it is one value."""
    return ImageWish(
        tuple(sorted(name if ":" in name.rpartition("/")[2] else f"{name}:latest" for name in names)), containers
    )


def host_ports(spec: pod_objects.PodSpec, mistakes: Mistakes) -> tuple[HostPort, ...]:
    """Return the ports taken on the node. On the host's network every port of a container is one."""
    running = [("containers", index, one) for index, one in enumerate(spec.containers or ())]
    running += [
        ("initContainers", index, one) for index, one in enumerate(spec.init_containers or ()) if is_sidecar(one)
    ]
    found = set()
    for listed, index, container in running:
        for place, port in enumerate(container.ports or ()):
            number = port.host_port or (port.container_port if spec.host_network else 0)
            protocol = port.protocol or "TCP"
            if not number:
                continue
            if protocol not in _PROTOCOLS:
                mistakes.note(f"spec.{listed}[{index}].ports[{place}].protocol", one_of(protocol, _PROTOCOLS))
                continue
            found.add(HostPort(number, protocol, port.host_ip) if port.host_ip else HostPort(number, protocol))
    return tuple(sorted(found))
