"""How the containers of KAI's users learn which GPU they share: from two ConfigMaps that an annotation names."""

from collections.abc import Mapping

#: By KAI's admission webhook: how the names of a pod's ConfigMaps begin.
CONFIG_MAPS = "runai/shared-gpu-configmap"
#: The GPUs that the container sees, and the part of each: their names today, and those that older webhooks refer to.
_VISIBLE, _PORTION = ("NVIDIA_VISIBLE_DEVICES", "RUNAI-VISIBLE-DEVICES"), ("GPU_PORTION", "RUNAI_NUM_OF_GPUS")


def config_maps(annotations: Mapping[str, str], ids: str, portion: str) -> Mapping[str, Mapping[str, str]]:
    """Return what the ConfigMaps of a pod's first container say; the second one is its environment as it stands."""
    prefix = annotations.get(CONFIG_MAPS)
    if not prefix:
        return {}
    said = dict.fromkeys(_VISIBLE, ids) | dict.fromkeys(_PORTION, portion)
    return {f"{prefix}-0": said, f"{prefix}-0-evar": {_VISIBLE[0]: ids}}
