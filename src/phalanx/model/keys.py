"""The keys of Phalanx itself that pods of every dialect may carry, and how the fields of any key are written."""

PREFIX = "phalanx.dev/"
#: Also on a namespace, as the default of its pods.
QUEUE = f"{PREFIX}queue"
MINIMUM = f"{PREFIX}minimum"
MAXIMUM = f"{PREFIX}maximum"


def annotation(key: str) -> str:
    """Return the field of an annotation."""
    return f"metadata.annotations[{key}]"


def label(key: str) -> str:
    """Return the field of a label."""
    return f"metadata.labels[{key}]"
