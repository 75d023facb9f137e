"""What a pod on a node may not change any more: its queue, its gang, and whether it may be preempted.

The books were charged with them when it was bound. Changed later, quota would move without a decision.
"""

from phalanx.kube.admission.document import SCHEDULER_NAMES, Document, Rule, matched, nothing_wrong, validating
from phalanx.kube.admission.expressions import choice, shown, text
from phalanx.model.keys import GANG, PREEMPTIBLE, QUEUE, annotation, label


def policy() -> list[Document]:
    """Return the policy for pods on nodes."""
    kept = [("labels", QUEUE, label(QUEUE)), *(("annotations", key, annotation(key)) for key in (GANG, PREEMPTIBLE))]
    cases = []
    differs = []
    for place, key, field in kept:
        now, before = (f"dyn({of}).metadata.?{place}[?{text(key)}]" for of in ("object", "oldObject"))
        differs.append(f"{now} != {before}")
        found = choice([(f"{now}.hasValue()", f"'found ' + {shown(f'{now}.value()')}")], "'missing'")
        allowed = choice([(f"{before}.hasValue()", shown(f"{before}.value()"))], "'none'")
        cases.append(
            (f"{now} != {before}",
             f"{text(f'{field}: ')} + {found} + ', allowed is ' + {allowed} + ' while the pod is on a node'")
        )  # fmt: skip
    on_a_node = (
        "dyn(oldObject).spec.?nodeName.orValue('') != '' && "
        f"dyn(oldObject).spec.?schedulerName.orValue('') in {SCHEDULER_NAMES}"
    )
    return validating(
        "bound",
        matched([Rule("", ("pods",), ("UPDATE",))]),
        {"changed-on-a-node": f"{on_a_node} && ({' || '.join(differs)})"},
        {"wrong": choice(cases, "''")},
        [nothing_wrong("the pod is on a node")],
    )
