"""What a pod says of other pods, as values of the model: affinity, anti-affinity, topology spread."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from phalanx.dialects.core import objects, pod_objects
from phalanx.dialects.core.constraints import label_selector
from phalanx.dialects.mistakes import Mistakes, one_of
from phalanx.model.selectors import LabelSelector, Liking, PodTerm, Requirement, Spread

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")


class Neighbours(NamedTuple):
    """What one pod says."""

    repels: tuple[PodTerm, ...] = ()
    attracts: tuple[PodTerm, ...] = ()
    likes: tuple[Liking, ...] = ()
    spreads: tuple[Spread, ...] = ()


_NOBODY = Neighbours()


def neighbours(spec: pod_objects.PodSpec, labels: objects.Strings, namespace: str, mistakes: Mistakes) -> Neighbours:
    """Return what a pod says of other pods."""
    affinity = spec.affinity
    near = affinity.pod_affinity if affinity else None
    away = affinity.pod_anti_affinity if affinity else None
    if near is None and away is None and not spec.topology_spread_constraints:
        return _NOBODY
    reader = _Reader(labels or {}, namespace, mistakes)
    return Neighbours(
        tuple(reader.terms(away.required, f"spec.affinity.podAntiAffinity.{_REQUIRED}")) if away else (),
        tuple(reader.terms(near.required, f"spec.affinity.podAffinity.{_REQUIRED}")) if near else (),
        (
            *(reader.likings(near.preferred, f"spec.affinity.podAffinity.{_PREFERRED}", 1) if near else ()),
            *(reader.likings(away.preferred, f"spec.affinity.podAntiAffinity.{_PREFERRED}", -1) if away else ()),
        ),
        tuple(reader.spreads(spec.topology_spread_constraints)),
    )


class _Reader(NamedTuple):
    """Reads what one pod says."""

    labels: Mapping[str, str]
    namespace: str
    mistakes: Mistakes

    def terms(self, listed: Iterable[pod_objects.PodTerm] | None, path: str) -> Iterator[PodTerm]:
        """Yield the terms that can be understood."""
        for index, one in enumerate(listed or ()):
            found = self._term(one, f"{path}[{index}]")
            if found is not None:
                yield found

    def likings(self, listed: Iterable[pod_objects.WeightedPodTerm] | None, path: str, sign: int) -> Iterator[Liking]:
        """Yield preferred terms; `sign` is -1 for anti-affinity."""
        for index, one in enumerate(listed or ()):
            found = self._term(one.pod_affinity_term or pod_objects.PodTerm(), f"{path}[{index}].podAffinityTerm")
            if found is not None:
                yield Liking(sign * one.weight, found)

    def spreads(self, listed: Iterable[pod_objects.Spread] | None) -> Iterator[Spread]:
        """Yield the topology spread constraints."""
        for index, one in enumerate(listed or ()):
            path, note = f"spec.topologySpreadConstraints[{index}]", self.mistakes.note
            action, bounded = one.when_unsatisfiable or "", one.min_domains is not None
            policies = {"nodeAffinityPolicy": one.node_affinity_policy, "nodeTaintsPolicy": one.node_taints_policy}
            wrong = next(((name, said) for name, said in policies.items() if said not in (None, *_POLICIES)), None)
            if not one.topology_key:
                note(f"{path}.topologyKey", "missing")
            elif one.max_skew is None:
                note(f"{path}.maxSkew", "missing, allowed is a whole number of 1 or more")
            elif action not in _ACTIONS:
                note(f"{path}.whenUnsatisfiable", one_of(action, _ACTIONS))
            elif bounded and action != "DoNotSchedule":
                note(f"{path}.minDomains", f"found {one.min_domains}, allowed only with DoNotSchedule")
            elif wrong is not None:
                note(f"{path}.{wrong[0]}", one_of(wrong[1] or "", _POLICIES))
            else:
                selector = label_selector(one.label_selector, f"{path}.labelSelector", self.mistakes)
                yield Spread(
                    one.topology_key,
                    one.max_skew,
                    self._with_keys(selector, one.match_label_keys, "In"),
                    hard=action == "DoNotSchedule",
                    min_domains=one.min_domains or 1,
                    honours_affinity=one.node_affinity_policy != "Ignore",
                    honours_taints=one.node_taints_policy == "Honor",
                )

    def _term(self, term: pod_objects.PodTerm, path: str) -> PodTerm | None:
        if not term.topology_key:
            self.mistakes.note(f"{path}.topologyKey", "missing")
            return None
        # Neither names nor a selector: the pod's own namespace. A selector alone: only what it selects.
        own = not term.namespaces and term.namespace_selector is None
        selector = label_selector(term.label_selector, f"{path}.labelSelector", self.mistakes)
        selector = self._with_keys(selector, term.match_label_keys, "In")
        return PodTerm(
            term.topology_key,
            self._with_keys(selector, term.mismatch_label_keys, "NotIn"),
            frozenset({self.namespace} if own else term.namespaces or ()),
            label_selector(term.namespace_selector, f"{path}.namespaceSelector", self.mistakes),
        )

    def _with_keys(self, selector: LabelSelector | None, keys: list[str] | None, operator: str) -> LabelSelector | None:
        """Return a selector with the pod's own labels of these keys, as the API server merges them on creation."""
        if selector is None or not keys:
            return selector
        more = (Requirement(key, operator, (self.labels[key],)) for key in keys if key in self.labels)
        return LabelSelector(tuple(dict.fromkeys((*selector.requirements, *more))))
