"""What a pod says about nodes and about other pods: tolerations, selectors, terms. Hashable values."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Toleration:
    """One toleration. An empty key with Exists tolerates every key; an empty effect, every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression over a label (or, in `fields`, a node field): key, operator, values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """Requirements that must all hold. An empty term matches no node."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class Preference:
    """A node term that is worth `weight` where it matches."""

    weight: int
    term: NodeTerm


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Requirements over labels that must all hold. An empty selector matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether these labels satisfy every requirement."""
        return all(satisfied(requirement, labels.get(requirement.key)) for requirement in self.requirements)


def satisfied(requirement: Requirement, value: str | None) -> bool:  # noqa: PLR0911 (one return per operator)
    """Tell whether one label value (None: absent) satisfies a requirement.

    NotIn and DoesNotExist hold where the label is absent; Gt and Lt need two integers, else they fail.
    """
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            left, right = integer(value), integer(requirement.values[0] if requirement.values else None)
            if left is None or right is None:
                return False
            return left > right if requirement.operator == "Gt" else left < right
    return False


def integer(text: str | None) -> int | None:
    """Read an int64 the way Go's ParseInt does: ASCII digits, an optional sign, in range; else None."""
    if text is None or not text.isascii() or len(text) > 20 or not text.lstrip("+-").isdigit():
        return None
    try:
        value = int(text)
    except ValueError:
        return None
    return value if -(2**63) <= value < 2**63 else None


@dataclass(frozen=True, slots=True)
class PodTerm:
    """Pods that match `selector` in some namespaces, counted per value of the node label `topology_key`.

    `selector` None matches nothing. `namespaces` are the named ones; `namespace_selector` adds those whose
    labels match (None: adds none).
    """

    topology_key: str
    selector: LabelSelector | None
    namespaces: frozenset[str]
    namespace_selector: LabelSelector | None = None


@dataclass(frozen=True, slots=True)
class Liking:
    """Pods that a pod would like to be near, or (below zero) not."""

    weight: int
    term: PodTerm


@dataclass(frozen=True, slots=True)
class PodRule:
    """A term with its namespaces looked up: which pods it means, counted per value of a node label."""

    topology_key: str
    #: None: it means nobody.
    selector: LabelSelector | None
    #: The namespaces it looks at; None: all of them.
    namespaces: frozenset[str] | None

    def means(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Tell whether it means a pod of this namespace with these labels."""
        here = self.namespaces is None or namespace in self.namespaces
        return here and self.selector is not None and self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class Spread:
    """A topology spread constraint: pods of its own namespace are spread evenly over the values of a node label."""

    topology_key: str
    #: How many more than the domain that has least any other may have.
    max_skew: int
    #: Which pods count. None: nobody.
    selector: LabelSelector | None
    #: A place against it is none; else it is only a worse one.
    hard: bool = True
    #: With fewer domains, the least counts as nothing.
    min_domains: int = 1
    #: Which nodes make domains: those that the pod's node selector and affinity allow; and those that it tolerates.
    honours_affinity: bool = True
    honours_taints: bool = False

    def counts(self, labels: Mapping[str, str]) -> bool:
        """Tell whether a pod with these labels counts. An empty selector counts nobody, as in kube-scheduler."""
        return self.selector is not None and bool(self.selector.requirements) and self.selector.matches(labels)


@dataclass(frozen=True, slots=True, order=True)
class HostPort:
    """A port taken on the node itself. `0.0.0.0` overlaps every address."""

    port: int
    protocol: str = "TCP"
    ip: str = "0.0.0.0"  # noqa: S104 (Kubernetes' way to write "any address")

    def overlaps(self, other: "HostPort") -> bool:
        """Tell whether both cannot be on one node."""
        anywhere = "0.0.0.0"  # noqa: S104
        same_ip = self.ip == other.ip or anywhere in {self.ip, other.ip}
        return same_ip and self.port == other.port and self.protocol == other.protocol
