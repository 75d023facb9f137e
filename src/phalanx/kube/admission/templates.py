"""Where objects say what their pods carry: a pod itself, the template of a Job, that of a CronJob's Jobs."""

from collections.abc import Sequence

from phalanx.kube.admission.document import Rule
from phalanx.kube.admission.expressions import choice, text
from phalanx.model.keys import PREFIX

#: Kubernetes' own kinds with a template. Their controllers make the pods; a person makes these.
WITH_TEMPLATE = (
    Rule("", ("replicationcontrollers",)),
    Rule("apps", ("deployments", "replicasets", "statefulsets", "daemonsets")),
    Rule("batch", ("jobs", "cronjobs")),
)
PODS = Rule("", ("pods",))

_POD, _JOB = "request.kind.kind == 'Pod'", "request.kind.kind == 'Job'"
_CRON_JOB, _DAEMON_SET = "request.kind.kind == 'CronJob'", "request.kind.kind == 'DaemonSet'"

#: The path of the pod's fields, as messages say it.
AT = choice([(_POD, "''"), (_CRON_JOB, "'spec.jobTemplate.spec.template.'")], "'spec.template.'")

#: The field that says how many pods there are, and its value; -1: nothing does.
COUNT_FIELD = choice(
    [(_JOB, "'spec.parallelism'"), (_CRON_JOB, "'spec.jobTemplate.spec.parallelism'")], "'spec.replicas'"
)


def pod_fields(of: str, path: str) -> str:
    """Return a field of the pod that an object is or makes; `path` begins with a dot."""
    # As dyn: the server would warn that a pod has no template, and a Job no labels where a pod has them.
    of = f"dyn({of})"
    return choice(
        [(_POD, f"{of}{path}"), (_CRON_JOB, f"{of}.spec.jobTemplate.spec.template{path}")], f"{of}.spec.template{path}"
    )


def annotations(of: str = "object") -> str:
    """Return the annotations of the pod, as a map."""
    return f"({pod_fields(of, '.?metadata.?annotations')}).orValue({{}})"


def labels(of: str = "object") -> str:
    """Return the labels of the pod, as a map."""
    return f"({pod_fields(of, '.?metadata.?labels')}).orValue({{}})"


def astray(of: str = "object") -> dict[str, str]:
    """Return, for annotations and labels, the keys of ours on an object that makes pods and not on its pods."""
    carried, labelled = annotations(of), labels(of)
    return {
        place: f"({_POD} ? [] : [{carried}].map(a, [{labelled}].map(l, dyn({of}).metadata.?{place}s.orValue({{}})"
        f".map(k, k.startsWith({text(PREFIX)}) && !(k in a) && !(k in l), k).sort())[0])[0])"
        for place in ("annotation", "label")
    }


def scheduler(of: str = "object") -> str:
    """Return which scheduler the pod is for."""
    return f"({pod_fields(of, '.spec.?schedulerName')}).orValue('default-scheduler')"


def count(of: str = "object") -> str:
    """Return how many pods run at once; -1: the object does not say."""
    of = f"dyn({of})"
    return choice(
        [
            (f"{_POD} || {_DAEMON_SET}", "-1"),
            (_JOB, f"{of}.spec.?parallelism.orValue(1)"),
            (_CRON_JOB, f"{of}.spec.jobTemplate.spec.?parallelism.orValue(1)"),
        ],
        f"{of}.spec.?replicas.orValue(1)",
    )


def changed(readings: Sequence[str]) -> str:
    """Tell whether this is a new object or one in which something that is looked at is not as before.

    What was accepted once can be scaled, finished and cleaned up: nobody is refused for what stood there already.
    `readings`: expressions over `object`.
    """
    differs = [f"{one} != {one.replace('dyn(object)', 'dyn(oldObject)')}" for one in readings]
    return " || ".join(["request.operation == 'CREATE'", *differs])
