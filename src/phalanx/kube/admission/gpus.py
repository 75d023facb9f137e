"""A pod that shares a GPU is given the line by which its first container learns which one: people write none.

Left alone is who has such a line, or an admission webhook of KAI's before us. From Kubernetes 1.36 on, as `defaults`.
"""

from phalanx.dialects.kai import parts, sharing
from phalanx.kube.admission.document import SCHEDULER_NAMES, Document, Rule, matched, mutating
from phalanx.kube.admission.expressions import text
from phalanx.model.keys import GPU_FRACTION, GPU_IDS, GPU_MEMORY

#: What NVIDIA's container runtime reads.
VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_ASKS = (GPU_FRACTION, GPU_MEMORY, parts.FRACTION, parts.MEMORY)
_ANNOTATIONS = "dyn(object).metadata.?annotations"
_ENV = "dyn(object).spec.containers[0].?env"


def policy() -> list[Document]:
    """Return the policy for new pods that share GPUs."""
    asks = " || ".join(f"{_ANNOTATIONS}[?{text(key)}].hasValue()" for key in _ASKS)
    conditions = {
        "is-ours-and-asks-for-a-part": f"dyn(object).spec.?schedulerName.orValue('') in {SCHEDULER_NAMES} && ({asks})",
        "is-not-told": f"!{_ENV}.orValue([]).exists(e, e.name == {text(VISIBLE)})",
        "has-no-config-map": f"!{_ANNOTATIONS}[?{text(sharing.CONFIG_MAPS)}].hasValue()",
    }
    return mutating("gpus", matched([Rule("", ("pods",), ("CREATE",))]), conditions, _patch())


def _patch() -> str:
    path = text(f"metadata.annotations['{GPU_IDS}']")
    line = f'{{"name": dyn({text(VISIBLE)}), "valueFrom": dyn({{"fieldRef": {{"fieldPath": {path}}}}})}}'
    add = 'JSONPatch{op: "add", path: "/spec/containers/0/env'
    return f'{_ENV}.hasValue() ? [{add}/-", value: {line}}}] : [{add}", value: [{line}]}}]'
