"""The presets that ship: they load, they say the same when they are written out, and they warn as they should."""

import pytest

from phalanx.policy.advice import warnings
from phalanx.policy.load import load_policy, parse_policy, preset_names
from phalanx.policy.registry import PLUGINS
from phalanx.policy.show import resolved


def listed(preset: str) -> list[tuple[str, float]]:
    return [(weighted.plugin.name, weighted.weight) for weighted in load_policy(preset).plugins]


#: In no preset: who a user is, only who runs the cluster can say.
CHOSEN = {"user_fairness"}


def test_the_presets_are_these_and_use_built_in_plugins_alone() -> None:
    assert preset_names() == ["default", "kai", "pod-by-pod", "volcano"]
    assert {name for preset in preset_names() for name, _ in listed(preset)} == set(PLUGINS) - CHOSEN


def test_default_packs_gangs_and_keeps_others_off_gpu_nodes() -> None:
    assert listed("default") == [
        ("node_ready", 1), ("bad_nodes", 1),
        ("taints", 3), ("node_affinity", 2), ("declared_features", 1), ("device_model", 4),
        ("device_memory", 4), ("model_quota", 1),
            ("pod_anti_affinity", 1), ("pod_affinity", 3), ("topology_spread", 3), ("exclusive_domains", 1),
        ("volume_binding", 1), ("static_volumes", 1), ("volume_conflicts", 1),
        ("volume_limits", 1), ("host_ports", 1), ("resource_fit", 1), ("mixed_devices", 1),
        ("shared_devices", 2), ("numa_nodes", 2), ("linked_devices", 2), ("scarce_resources", 4), ("closeness", 0.001),
        ("ageing", 1),
        ("gang", 1), ("quota", 1), ("fairness", 1), ("patience", 1), ("priority", 1), ("arrival", 1),
    ]  # fmt: skip


def test_pod_by_pod_is_kube_schedulers_list_without_gangs() -> None:
    assert listed("pod-by-pod") == [
        ("node_ready", 1), ("taints", 3), ("node_affinity", 2), ("declared_features", 1), ("device_model", 4),
        ("device_memory", 4), ("pod_anti_affinity", 1), ("pod_affinity", 2), ("topology_spread", 2),
        ("exclusive_domains", 1), ("volume_binding", 1), ("static_volumes", 1), ("volume_conflicts", 1),
        ("volume_limits", 1), ("host_ports", 1), ("resource_fit", 1), ("mixed_devices", 1),
        ("balanced_allocation", 1), ("image_locality", 1), ("priority", 1), ("arrival", 1),
    ]  # fmt: skip


def test_kai_takes_over_the_pods_of_kai() -> None:
    assert load_policy("kai").scheduler_names == ("kai-scheduler",)


@pytest.mark.parametrize("preset", preset_names())
def test_a_policy_written_out_loads_to_itself(preset: str) -> None:
    policy = load_policy(preset)
    assert parse_policy(resolved(policy), preset) == policy


def test_a_policy_of_nothing_written_out_loads_to_itself() -> None:
    policy = parse_policy("{actions: [], plugins: []}", "none")
    assert parse_policy(resolved(policy), "none") == policy


def test_only_the_baseline_warns_and_only_of_gangs_and_of_parts_of_gpus() -> None:
    assert {preset: warnings(load_policy(preset)) for preset in preset_names()} == {
        "default": [],
        "kai": [],
        "pod-by-pod": [
            "without shared_devices, pods that ask for a part of a GPU are held",
            "without quota, queues get more than their limits",
            "without gang, every pod is decided alone and gangs are split",
        ],
        "volcano": [],
    }


def test_each_filter_that_is_left_out_is_warned_of_and_so_is_a_weight_without_effect() -> None:
    policy = parse_policy("{actions: [], plugins: [{name: taints}, {name: arrival, weight: 2}]}", "my.yaml")
    assert warnings(policy) == [
        "without node_ready, pods go to nodes that are not ready or cordoned",
        "without node_affinity, nodeSelector and required node affinity are not honoured",
        "without declared_features, pods go to nodes whose kubelet cannot run them",
        "without device_model, the models in phalanx.dev/gpu-model are not honoured",
        "without device_memory, phalanx.dev/gpu-memory-minimum is not honoured",
        "without mixed_devices, on nodes with GPUs of several models, those that serve are not counted apart",
        "without shared_devices, pods that ask for a part of a GPU are held",
        "without pod_anti_affinity, required pod anti-affinity is not honoured, of running pods neither",
        "without pod_affinity, required pod affinity is not honoured",
        "without topology_spread, topologySpreadConstraints are not honoured",
        "without exclusive_domains, gangs that want a domain for themselves do not get it alone",
        "without volume_binding, pods may go to nodes from which their volumes cannot be used",
        "without static_volumes, more pods may be placed than there are volumes for, and their binds are refused",
        "without volume_conflicts, two pods may mount a disk that one alone can mount",
        "without volume_limits, a node may get more volumes than it can attach",
        "without host_ports, two pods with one host port may go to one node, where the second one fails",
        "without resource_fit, nodes are given more than they have, and their kubelets refuse the pods",
        "without quota, queues get more than their limits",
        "without gang, every pod is decided alone and gangs are split",
        "without an action such as allocate, nothing is ever placed",
        "the weight of arrival has no effect: it does not score",
    ]
