"""Policies from Volcano's scheduler configuration: what is taken over, what is only named, and what cannot be."""

import json
from typing import Any

import pytest

from phalanx.policy.advice import warnings
from phalanx.policy.import_volcano import VolcanoError, imported
from phalanx.policy.load import parse_policy
from tests.oracles.volcano_conf import CHART


def conf(actions: str = "allocate", **plugins: Any) -> str:
    listed = [
        {"name": name.replace("_", "-"), **({"arguments": given} if given else {})} for name, given in plugins.items()
    ]
    return json.dumps({"actions": actions, "tiers": [{"plugins": listed}]})


def policy(text: str) -> tuple[Any, list[str]]:
    """Return the policy that a configuration becomes, which loads without a warning, and the lines of its comment."""
    written = imported(text.encode(), "volcano-scheduler.conf")
    loaded = parse_policy(written, "imported")
    return loaded, [line.removeprefix("#   - ") for line in written.splitlines() if line.startswith("#   - ")]


def weights(loaded: Any) -> dict[str, float]:
    return {weighted.plugin.name: weighted.weight for weighted in loaded.plugins}


def test_the_configuration_of_volcanos_chart_becomes_a_policy_that_names_what_differs() -> None:
    loaded, said = policy(CHART)
    assert said == [
        "action enqueue: a group is let in at once where its queue is open",
        "action backfill: pods that request nothing are placed by allocate",
        "binpack beside leastrequested of nodeorder: only the first counts here",
        "gang: enablePreemptable: false: not imported",
        "conformance: pods of kube-system have other scheduler names, and only pods of the policy's names are evicted",
        "overcommit: a group is let in at once where its queue is open",
        "drf: inside a queue priority decides, then age; user_fairness orders by users",
        "drf: enablePreemptable: false: not imported",
        "predicates: pods are never bound against their own rules; single filters cannot be switched off",
    ]
    assert [action.name for action in loaded.actions] == ["allocate"]
    assert (loaded.share.name, loaded.scheduler_names, warnings(loaded)) == ("weighted", ("volcano",), [])
    fit = next(one.plugin for one in loaded.plugins if one.plugin.name == "resource_fit")
    assert (fit.strategy, {name: one.weight for name, one in fit.resources.items()}) == (
        "PerResource", {"cpu": 1, "memory": 1},
    )  # fmt: skip


def test_weights_of_nodeorder_and_binpack_are_taken_over_whatever_their_order() -> None:
    binpack = {
        "binpack.weight": 10, "binpack.cpu": 2, "binpack.memory": 3,
        "binpack.resources": "nvidia.com/gpu, example.com/foo", "binpack.resources.nvidia.com/gpu": 7,
        "binpack.resources.example.com/foo": 8,
    }  # fmt: skip
    nodeorder = {"nodeaffinity.weight": 5, "tainttoleration.weight": "0", "leastrequested.weight": 0}
    orders: list[dict[str, Any]] = [
        {"binpack": binpack, "nodeorder": nodeorder},
        {"nodeorder": nodeorder, "binpack": binpack},
    ]
    for plugins in orders:
        loaded, said = policy(conf(gang=None, priority=None, capacity=None, **plugins))
        found = weights(loaded)
        assert (found["node_affinity"], found["taints"], found["pod_affinity"], found["resource_fit"]) == (5, 0, 2, 10)
        fit = next(one.plugin for one in loaded.plugins if one.plugin.name == "resource_fit")
        assert {name: one.weight for name, one in fit.resources.items()} == {
            "cpu": 2, "memory": 3, "nvidia.com/gpu": 7, "example.com/foo": 8,
        }  # fmt: skip
        assert (loaded.share.name, said) == ("quota_then_weight", [])


def test_without_nodeorder_nothing_is_scored_and_most_requested_packs() -> None:
    found = weights(policy(conf(gang=None, priority=None, proportion=None))[0])
    assert {found[name] for name in ("taints", "node_affinity", "resource_fit", "image_locality")} == {0}
    most, _ = policy(conf(nodeorder={"mostrequested.weight": 2}, gang=None, priority=None, proportion=None))
    fit = next(one for one in most.plugins if one.plugin.name == "resource_fit")
    assert (fit.weight, fit.plugin.strategy) == (2, "MostAllocated")


def test_actions_that_evict_and_plugins_with_an_equal_are_taken_over() -> None:
    loaded, said = policy(
        conf("allocate, gangpreempt, preempt, reclaim, shuffle", gang=None, capacity=None,
             sla={"sla-waiting-time": "1h2m"}, deviceshare={"deviceshare.SchedulePolicy": "spread"}, magic=None)
    )  # fmt: skip
    assert [action.name for action in loaded.actions] == ["allocate", "preempt", "reclaim"]
    plugins = {one.plugin.name: one.plugin for one in loaded.plugins}
    assert (plugins["ageing"].after, plugins["shared_devices"].placement) == (3720.0, "spread")
    assert "priority" not in plugins
    assert said == [
        "action shuffle: pods are moved only to make room for others: action consolidate",
        "sla: the waiting time of the whole cluster alone; the annotation of a group is not read",
        "magic: unknown plugin, no equal",
    ]


def test_fair_shares_of_users_are_taken_over_with_their_half_life() -> None:
    given = {
        "fairshare.halfLifeMinutes": "60", "fairshare.resourceKey": "cpu", "fairshare.targetQueues": "a,b",
        "fairshare.persistState": "true",
    }  # fmt: skip
    loaded, said = policy(conf(gang=None, priority=None, proportion=None, nodeorder=None, fairshare=given))
    assert [one.plugin.name for one in loaded.plugins[-3:]] == ["priority", "user_fairness", "arrival"]
    users = loaded.plugins[-2].plugin
    assert (users.label, users.half_life, users.resources) == ("", 3600.0, ("cpu",))
    assert said == [
        "fairshare: fairshare.persistState: not imported",
        "fairshare: fairshare.targetQueues: not imported",
    ]


def test_every_plugin_and_argument_without_an_equal_is_named() -> None:
    """One line each: nothing of a configuration goes in silence."""
    rows = [
        {"name": "drf", "enableHierarchy": True},
        {"name": "capacity", "enableHierarchy": True, "arguments": {"ancestorReclaimLevel": 1}},
        {"name": "tdm", "arguments": {"tdm.revocable-zone.rz1": "10:00-21:00"}},
        {"name": "overcommit", "arguments": {"overcommit-factor": 1.5}},
        {"name": "task-topology"}, {"name": "numaaware"}, {"name": "numa-aware", "arguments": {"weight": 10}},
        {"name": "deviceshare", "arguments": {"deviceshare.VGPUEnable": True}},
        {"name": "usage", "arguments": {"usage.weight": 5}},
        {"name": "nodeorder", "arguments": {"nodeorder.weight": 1}},
        {"name": "gang"}, {"name": "priority"},
    ]  # fmt: skip
    _, said = policy(json.dumps({"actions": "allocate", "tiers": [{"plugins": rows}], "configurations": []}))
    assert said == [
        "drf: inside a queue priority decides, then age; user_fairness orders by users",
        "drf: enableHierarchy: the tree is that of spec.parent of Queues; volcano.sh/hierarchy is not read",
        "capacity: ancestorReclaimLevel: not imported",
        "tdm: no equal",
        "overcommit: a group is let in at once where its queue is open",
        "task-topology: no equal; pod affinity among the pods of a task is honoured",
        "numaaware: numa_nodes",
        "numa-aware: numa_nodes",
        "deviceshare: deviceshare.VGPUEnable: not imported",
        "usage: no equal: what pods request counts, and not what they use",
        "nodeorder: nodeorder.weight: not imported",
        "configurations: not imported",
    ]


def test_the_config_map_of_the_chart_is_read_as_it_is() -> None:
    data = {"kind": "ConfigMap", "data": {"volcano-scheduler.conf": CHART}}
    assert imported(json.dumps(data).encode(), "x") == imported(CHART.encode(), "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "x:1: "),
        ("tiers: []", "x: found no actions, allowed is volcano-scheduler.conf or the ConfigMap that has it"),
        (conf("allocate, vote"), "x: actions: found 'vote', allowed is allocate, reclaim, preempt, "),
        ("{actions: 3}", "x: actions: found 3, allowed is allocate, "),
        ("{actions: allocate, tiers: [{plugins: [{nam: gang}]}]}", "x: tiers[0].plugins[0].name: found "),
        (conf(nodeorder={"nodeaffinity.weight": "much"}),
         "x: nodeorder: nodeaffinity.weight: found 'much', allowed is a whole number from 0 to 1000000"),
        (conf(binpack={"binpack.cpu": -1}),
         "x: binpack: binpack.cpu: found -1, allowed is a whole number from 0 to 1000000"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_line(text: str, message: str) -> None:
    with pytest.raises(VolcanoError) as caught:
        imported(text.encode(), "x")
    assert str(caught.value).startswith(message)
