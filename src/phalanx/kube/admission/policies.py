"""Every policy as text for the manifests and the chart, a file for each part that can be switched on alone."""

from collections.abc import Callable

import yaml

from phalanx.kube.admission import bound, defaults, gpus, keys, queues
from phalanx.kube.admission.document import SCHEDULER_NAMES, Document

#: The parts with what each is for, as the head of its file. `defaults` and `gpus` need an API server of 1.36 or newer.
PARTS: dict[str, tuple[str, tuple[Callable[[], list[Document]], ...]]] = {
    "keys": (
        "Keys and values under phalanx.dev/ are checked when somebody applies them.",
        (keys.policy, keys.namespaces),
    ),
    "queues": (
        "A queue takes work only from its namespaces, and if it says access: granted, only from who has the verb use.",
        (queues.templates_policy, queues.pods_policy, queues.made_policy),
    ),
    "bound": ("Queue, gang and preemptibility of a pod on a node do not change.", (bound.policy,)),
    "defaults": (
        "A namespace labelled phalanx.dev/scheduler-name gives its pods that scheduler, and its queue.",
        (defaults.policy,),
    ),
    "gpus": ("A pod that shares a GPU is given the line by which it learns which one.", (gpus.policy,)),
}
_MADE = "Made by `phalanx.kube.admission` from the tables that the scheduler itself reads by."


def files() -> dict[str, str]:
    """Return the sources by file name, with placeholders and a section each, as `kube/manifests` has them."""
    found = {}
    for part, (about, makers) in PARTS.items():
        documents = "---\n".join(_written(one) for maker in makers for one in maker())
        found[f"8-admission-{part}.yaml"] = f"#if admission_{part}\n# {about}\n# {_MADE}\n{documents}#end\n"
    return found


class _Text(yaml.SafeDumper):
    """Expressions as they are, names that may look like anything in quotes, and placeholders of lists bare."""


def _scalar(dumper: _Text, value: str) -> yaml.ScalarNode:
    style = "|" if len(value) > 80 or "\n" in value else '"' if "${" in value else None
    node: yaml.ScalarNode = dumper.represent_scalar(
        "tag:yaml.org,2002:str", value, style=None if value == SCHEDULER_NAMES else style
    )
    return node


_Text.add_representer(str, _scalar)


def _written(document: Document) -> str:
    text = yaml.dump(document, Dumper=_Text, sort_keys=False, width=10**9, allow_unicode=True)
    # A dollar of a pattern is a dollar; one before a brace begins a placeholder.
    return text.replace("$", "$$").replace("$${", "${")
