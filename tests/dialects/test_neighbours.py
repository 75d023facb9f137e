"""What a pod says of other pods: read whole, and each field wrong in turn is one line that names it."""

from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.model.events import Refused, TaskSeen
from phalanx.model.selectors import LabelSelector, Liking, PodTerm, Requirement, Spread
from phalanx.model.task import Task

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
WEB = LabelSelector((Requirement("app", "In", ("web",)),))
SELECTOR = {"matchLabels": {"app": "web"}}
SPREAD = {"topologyKey": "zone", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": SELECTOR}


def said(spec: dict[str, Any]) -> Task | Refused:
    document = {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ml", "labels": {"app": "web", "v": "1"}},
        "spec": {"schedulerName": "phalanx", "containers": [{}], **spec},
    }  # fmt: skip
    event = read(document, ["phalanx"])
    assert isinstance(event, TaskSeen | Refused)
    return event.task if isinstance(event, TaskSeen) else event


def task(spec: dict[str, Any]) -> Task:
    found = said(spec)
    assert isinstance(found, Task), found
    return found


def test_affinity_is_read_as_it_is_written() -> None:
    term = {"topologyKey": "zone", "labelSelector": SELECTOR}
    found = task(
        {
            "affinity": {
                "podAffinity": {REQUIRED: [term], PREFERRED: [{"weight": 5, "podAffinityTerm": term}]},
                "podAntiAffinity": {REQUIRED: [term], PREFERRED: [{"weight": 7, "podAffinityTerm": term}]},
            }
        }
    )
    read_term = PodTerm("zone", WEB, frozenset({"ml"}))
    assert (found.repels, found.attracts) == ((read_term,), (read_term,))
    assert found.likes == (Liking(5, read_term), Liking(-7, read_term))


def test_keys_of_labels_are_merged_as_the_api_server_merges_them_and_only_once() -> None:
    """On a cluster the selector has them already; a label that the pod lacks adds nothing."""
    merged = {"matchExpressions": [{"key": "v", "operator": "In", "values": ["1"]}], **SELECTOR}
    for selector in (SELECTOR, merged):
        term = {
            "topologyKey": "zone", "labelSelector": selector, "matchLabelKeys": ["v", "absent"],
            "mismatchLabelKeys": ["app"],
        }  # fmt: skip
        found = task({"affinity": {"podAffinity": {REQUIRED: [term]}}}).attracts[0].selector
        wishes = (*WEB.requirements, Requirement("v", "In", ("1",)), Requirement("app", "NotIn", ("web",)))
        assert found == LabelSelector(wishes)


def test_a_spread_is_read_with_its_defaults_and_all_its_fields() -> None:
    policies = {"nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}
    found = task(
        {
            "topologySpreadConstraints": [
                SPREAD,
                {**SPREAD, **policies, "minDomains": 3, "matchLabelKeys": ["v"]},
                {"topologyKey": "host", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"},
            ]
        }
    ).spreads
    both = LabelSelector((*WEB.requirements, Requirement("v", "In", ("1",))))
    assert found == (
        Spread("zone", 2, WEB),
        Spread("zone", 2, both, min_domains=3, honours_affinity=False, honours_taints=True),
        Spread("host", 1, None, hard=False),
    )


def spread(**fields: Any) -> dict[str, Any]:
    return {"topologySpreadConstraints": [SPREAD, {**SPREAD, **fields}]}


def anti(**fields: Any) -> dict[str, Any]:
    return {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": SELECTOR, **fields}]}}}


def liking(weight: Any, **fields: Any) -> dict[str, Any]:
    term = {"topologyKey": "zone", "labelSelector": SELECTOR, **fields}
    return {"affinity": {"podAffinity": {PREFERRED: [{"weight": weight, "podAffinityTerm": term}]}}}


AT = "spec.topologySpreadConstraints[1]"
ACTIONS = "allowed is DoNotSchedule, ScheduleAnyway"
TERM = f"spec.affinity.podAntiAffinity.{REQUIRED}[0]"
LIKED = f"spec.affinity.podAffinity.{PREFERRED}[0]"


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        (spread(topologyKey=""), f"{AT}.topologyKey", "missing"),
        (spread(topologyKey=3), f"{AT}.topologyKey", "found 3, allowed is a string (put it in quotes)"),
        (spread(maxSkew=0), f"{AT}.maxSkew", "found 0, allowed is a whole number >= 1"),
        (spread(maxSkew=None), f"{AT}.maxSkew", "missing, allowed is a whole number of 1 or more"),
        (spread(maxSkew="1"), f"{AT}.maxSkew", "found '1', allowed is a whole number"),
        (spread(whenUnsatisfiable="Maybe"), f"{AT}.whenUnsatisfiable", f"found 'Maybe', {ACTIONS}"),
        (spread(whenUnsatisfiable=None), f"{AT}.whenUnsatisfiable", f"found '', {ACTIONS}"),
        (spread(minDomains=0), f"{AT}.minDomains", "found 0, allowed is a whole number >= 1"),
        (spread(minDomains=2, whenUnsatisfiable="ScheduleAnyway"), f"{AT}.minDomains",
         "found 2, allowed only with DoNotSchedule"),
        (spread(nodeAffinityPolicy="Perhaps"), f"{AT}.nodeAffinityPolicy", "found 'Perhaps', allowed is Honor, Ignore"),
        (spread(nodeTaintsPolicy="honor"), f"{AT}.nodeTaintsPolicy", "found 'honor', allowed is Honor, Ignore"),
        (spread(matchLabelKeys="app"), f"{AT}.matchLabelKeys", "found 'app', allowed is a list"),
        (spread(labelSelector={"matchExpressions": [{"key": "a", "operator": "Near"}]}),
         f"{AT}.labelSelector.matchExpressions[0].operator",
         "found 'Near', allowed is In, NotIn, Exists, DoesNotExist"),
        (anti(topologyKey=None), f"{TERM}.topologyKey", "missing"),
        (anti(namespaces="ml"), f"{TERM}.namespaces", "found 'ml', allowed is a list"),
        (anti(matchLabelKeys=[1]), f"{TERM}.matchLabelKeys[0]", "found 1, allowed is a string (put it in quotes)"),
        (anti(namespaceSelector={"matchExpressions": [{"operator": "Exists"}]}),
         f"{TERM}.namespaceSelector.matchExpressions[0].key", "missing"),
        (liking(0), f"{LIKED}.weight", "found 0, allowed is a whole number >= 1"),
        (liking(101), f"{LIKED}.weight", "found 101, allowed is a whole number <= 100"),
        (liking(1, topologyKey=""), f"{LIKED}.podAffinityTerm.topologyKey", "missing"),
    ],
)  # fmt: skip
def test_each_wrong_field_is_one_line_that_names_it(spec: dict[str, Any], field: str, message: str) -> None:
    found = said(spec)
    hold = found.hold if isinstance(found, Task) else found
    assert hold is not None
    assert (hold.field, hold.message) == (field, message)
