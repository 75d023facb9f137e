"""Who may put work into which queue, asked of who applies the work.

The scheduler itself keeps a queue's namespaces; it cannot know who made a pod, so that `access: granted` lives here
alone.

A policy is evaluated once for every Queue there is. Pods that controllers make are most of all pods, and their
controller is trusted: labels that only such pods have keep them out of that. Who writes such a label on a pod of its
own is asked in a policy that needs no Queue, and must have the right whatever the queue says.
"""

from phalanx.dialects.native.queues import GRANTED, GROUP, USE, VERSION
from phalanx.kube.admission import templates
from phalanx.kube.admission.document import (
    SYSTEM,
    Check,
    Document,
    Rule,
    matched,
    nothing_wrong,
    validating,
)
from phalanx.kube.admission.expressions import choice, text
from phalanx.kube.queue_crd import PLURAL
from phalanx.model.keys import QUEUE, label

#: What Kubernetes' controllers write on the pods that they make of templates.
MADE = ("batch.kubernetes.io/job-name", "pod-template-hash", "controller-revision-hash")

_PARAMS = {"apiVersion": VERSION, "kind": "Queue"}
_NAMED = 5
_QUEUE = f"{templates.labels()}[?{text(QUEUE)}].orValue('')"
_TRUSTED = (
    f"'system:serviceaccounts:{SYSTEM}' in dyn(request).userInfo.?groups.orValue([]) || "
    "request.userInfo.username == 'system:kube-controller-manager'"
)
#: Who labelled the namespace has put its pods into the queue.
_OF_NAMESPACE = f"variables.queue == dyn(namespaceObject).metadata.?labels[?{text(QUEUE)}].orValue('')"
_MAY = (
    f"authorizer.group({text(GROUP)}).resource({text(PLURAL)}).namespace(request.namespace).name(variables.queue)"
    f".check({text(USE)}).allowed()"
)
_FIELD = f"variables.at + {text(f'{label(QUEUE)}: Queue ')} + variables.queue"
_NOT_GRANTED = (
    f"{_FIELD} + {text(f' is for who has the verb {USE} on it, which ')} + request.userInfo.username + ' has not'"
)
_FALLBACK = "the queue does not take this"


def templates_policy() -> list[Document]:
    """Return the policy for templates of pods."""
    return _of_queues("queues", list(templates.WITH_TEMPLATE), None)


def pods_policy() -> list[Document]:
    """Return the policy for pods that no controller of Kubernetes made."""
    selected = [{"key": QUEUE, "operator": "Exists"}, *({"key": key, "operator": "DoesNotExist"} for key in MADE)]
    return _of_queues("queues-of-pods", [templates.PODS], {"matchExpressions": selected})


def made_policy() -> list[Document]:
    """Return the policy for pods that carry what only a controller writes."""
    made = " || ".join(f"{text(key)} in {templates.labels()}" for key in MADE)
    return validating(
        "queues-of-made-pods",
        matched([templates.PODS], {"matchExpressions": [{"key": QUEUE, "operator": "Exists"}]}),
        {"is-no-controllers": f"!({_TRUSTED}) && ({made}) && ({templates.changed([_QUEUE])})"},
        {"queue": _QUEUE, "at": "''"},
        [Check(f"{_OF_NAMESPACE} || {_MAY}", _NOT_GRANTED, _FALLBACK, "Forbidden")],
    )


def _of_queues(what: str, rules: list[Rule], object_selector: Document | None) -> list[Document]:
    """Return a policy that is asked for each Queue, and answers for the one that the object names."""
    named = f"{_QUEUE} == params.metadata.name"
    bounded = f"has(params.spec) && (has(params.spec.namespaces) || params.spec.?access.orValue('') == {text(GRANTED)})"
    few = f"variables.namespaces.size() > {_NAMED}"
    first = choice([(few, f"variables.namespaces.slice(0, {_NAMED})")], "variables.namespaces")
    more = choice([(few, "', and more'")], "''")
    inside = "!has(params.spec.namespaces) || request.namespace in params.spec.namespaces"
    elsewhere = (
        f"{_FIELD} + ' does not take pods of namespace ' + request.namespace + ', only those of ' + "
        f"{first}.join(', ') + {more}"
    )
    closed = "params.spec.?access.orValue('') != " + text(GRANTED)
    return validating(
        what,
        matched(rules, object_selector),
        # One condition, because it is what an object costs for each Queue that it does not name.
        {"is-for-this-queue": f"({named}) && ({bounded}) && !({_TRUSTED}) && ({templates.changed([_QUEUE])})"},
        {
            "queue": _QUEUE,
            "at": templates.AT,
            "namespaces": "dyn(params).spec.?namespaces.orValue([]).sort()",
            "wrong": choice([(inside, "''")], elsewhere),
        },
        [
            nothing_wrong(_FALLBACK, "Forbidden"),
            Check(f"{closed} || {_OF_NAMESPACE} || {_MAY}", _NOT_GRANTED, _FALLBACK, "Forbidden"),
        ],
        params=_PARAMS,
    )
