"""Where Phalanx refuses, on purpose, what kube-scheduler would take: who refuses, and the line of the docs with why.

What is not listed here is a bug, and so is a line that no page has.
"""

#: The filter, or how the field that holds the pod begins -> a line of docs/as-kube-scheduler.md.
STRICTER = {
    "node_ready": "A node whose Ready condition is not `True` takes no new pods, tainted or not.",
    "static_volumes": "Of static volumes of one size, each claim of a pod takes the first by name.",
}


def explained(refusing: frozenset[str]) -> bool:
    """Tell whether all of those who refuse may."""
    return all(any(one.startswith(known) for known in STRICTER) for one in refusing)
