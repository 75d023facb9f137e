"""A namespace that says which scheduler its pods are for: people there change no manifest.

Where the installation is gone, pods must not be given to a scheduler that nobody runs: then it does nothing.

From Kubernetes 1.36 on the API server has policies that change objects. Older ones do not take this document.
"""

from phalanx.kube.admission.document import SCHEDULER_NAMES, Document, elsewhere, mutating
from phalanx.kube.admission.expressions import choice, text
from phalanx.model.keys import QUEUE, SCHEDULER_NAME

_NAMESPACE_LABELS = "dyn(namespaceObject).metadata.labels"
_LABELS = "dyn(object).metadata.?labels"


def policy() -> list[Document]:
    """Return the policy for new pods of labelled namespaces."""
    selector = {
        "matchExpressions": [
            {"key": SCHEDULER_NAME, "operator": "In", "values": SCHEDULER_NAMES},
            elsewhere(),
        ]
    }
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    conditions = {
        # Who names a scheduler means it; the server fills this one in where nobody names any.
        "names-no-scheduler": "dyn(object).spec.?schedulerName.orValue('default-scheduler') == 'default-scheduler'",
        "is-on-no-node": "dyn(object).spec.?nodeName.orValue('') == ''",
        "is-of-no-daemon-set": "!dyn(object).metadata.?ownerReferences.orValue([]).exists(o, o.kind == 'DaemonSet')",
    }
    return mutating("defaults", {"resourceRules": [pods], "namespaceSelector": selector}, conditions, _patch())


def _patch() -> str:
    scheduler = (
        f'JSONPatch{{op: "add", path: "/spec/schedulerName", value: {_NAMESPACE_LABELS}[{text(SCHEDULER_NAME)}]}}'
    )
    no_labels = '[JSONPatch{op: "add", path: "/metadata/labels", value: {} }]'
    queue = (
        f'[JSONPatch{{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey({text(QUEUE)}), '
        f"value: {_NAMESPACE_LABELS}[{text(QUEUE)}]}}]"
    )
    has_one = f"{_NAMESPACE_LABELS}[?{text(QUEUE)}].orValue('') == '' || {_LABELS}[?{text(QUEUE)}].hasValue()"
    room = choice([(f"{_LABELS}.hasValue()", "[]")], no_labels)
    return f"[{scheduler}] + {choice([(has_one, '[]')], f'{room} + {queue}')}"
