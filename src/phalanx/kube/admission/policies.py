"""Every policy of an installation, by the part that it can be switched on with."""

from collections.abc import Callable, Iterable

from phalanx.kube.admission import bound, defaults, keys, queues
from phalanx.kube.admission.document import Document, Installation

#: What can be had alone. `defaults` needs an API server of 1.36 or newer.
PARTS: dict[str, tuple[Callable[[Installation], list[Document]], ...]] = {
    "keys": (keys.policy, keys.namespaces),
    "queues": (queues.templates_policy, queues.pods_policy, queues.made_policy),
    "bound": (bound.policy,),
    "defaults": (defaults.policy,),
}


def policies(installation: Installation, parts: Iterable[str] = PARTS) -> list[Document]:
    """Return the policies of some parts with their bindings."""
    return [document for part in parts for policy in PARTS[part] for document in policy(installation)]
