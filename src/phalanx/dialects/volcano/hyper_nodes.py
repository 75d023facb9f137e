"""Volcano's HyperNode (`topology.volcano.sh/v1alpha1`): a domain of the network, by its nodes or smaller HyperNodes."""

from phalanx.dialects.core.constraints import label_selector
from phalanx.dialects.mistakes import FieldError, Mistakes, check_name, one_of
from phalanx.dialects.volcano import objects as api
from phalanx.model.events import DomainSeen
from phalanx.model.pattern import Pattern, PatternError
from phalanx.model.quantity import shown
from phalanx.model.reference import Reference
from phalanx.model.selectors import LabelSelector

GROUP = "topology.volcano.sh"
KIND = f"HyperNode.{GROUP}"
NODE, HYPER_NODE = TYPES = ("Node", "HyperNode")
#: All HyperNodes together, as gangs refer to them.
TREE = Reference(KIND, "")

#: How much it matters that pods are near each other.
HARD, SOFT = MODES = ("hard", "soft")
#: A tier below all: the lowest one that there is.
NEAREST = 0

_SELECTORS = "exactMatch, regexMatch, labelMatch"


def read_hyper_node(one: api.HyperNode) -> DomainSeen:
    """Return the domain that a HyperNode is, or raise the first mistake in it."""
    meta, spec = one.metadata, one.spec
    check_name(meta.name, "metadata.name")
    nodes, choices, parts = list[str](), list[Pattern | LabelSelector](), list[tuple[str, str]]()
    if not spec.members:
        raise FieldError("spec.members", "found none, allowed is at least one")
    for index, member in enumerate(spec.members):
        path = f"spec.members[{index}]"
        if member.type not in TYPES:
            raise FieldError(f"{path}.type", one_of(member.type, TYPES))
        by = _selector(member.selector or api.MemberSelector(), f"{path}.selector")
        if member.type == HYPER_NODE and not isinstance(by, str):
            raise FieldError(f"{path}.selector", "found no exactMatch, allowed is nothing else for a HyperNode")
        if isinstance(by, str) and member.type == HYPER_NODE:
            parts.append((by, f"{path}.selector.exactMatch.name"))
        elif isinstance(by, str):
            nodes.append(by)
        elif by is not None:
            choices.append(by)
    return DomainSeen(
        Reference(KIND, meta.name), f"{GROUP}/tier-{spec.tier}", tuple(nodes), meta.uid or "", tuple(choices),
        tuple(parts), spec.tier, spec.tier_name or "",
    )  # fmt: skip


def _selector(by: api.MemberSelector, path: str) -> str | Pattern | LabelSelector | None:
    """Return a name, a pattern or a selector; None: an empty one, which means nobody."""
    given = [one for one in (by.exact_match, by.regex_match, by.label_match) if one is not None]
    if len(given) != 1:
        raise FieldError(path, f"found {len(given) or 'none'} of {_SELECTORS}, allowed is exactly one")
    if by.exact_match is not None:
        check_name(by.exact_match.name, f"{path}.exactMatch.name")
        return by.exact_match.name
    if by.regex_match is not None:
        field, pattern = f"{path}.regexMatch.pattern", by.regex_match.pattern
        try:
            return Pattern(pattern)
        except PatternError as wrong:
            text = f"found {shown(pattern)}, allowed is a regular expression that names of nodes need: {wrong}"
            raise FieldError(field, text) from None
    found = label_selector(by.label_match, f"{path}.labelMatch", Mistakes(strict=True))
    return found if found is not None and found.requirements else None
