"""The scenario language: what lines mean, and that every mistake names its line, the word and what is allowed."""

from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.model.gang import Membership
from phalanx.model.node import Taint
from phalanx.model.selectors import HostPort, Toleration
from phalanx.model.task import State, Task
from phalanx.sim import words
from phalanx.sim.documents import node_document, pod_document
from phalanx.sim.duration import seconds, written
from phalanx.sim.lines import ScenarioError
from phalanx.sim.scenario import read_scenario
from phalanx.sim.timeline import Arrive, Timeline, timeline


def laid_out(text: str, **options: Any) -> Timeline:
    return timeline(read_scenario(dedent(text)), **options)


def tasks(text: str) -> dict[str, Task]:
    return {one.task.name: one.task for _, one in laid_out(text).happenings if isinstance(one, Arrive)}


def arrivals(text: str) -> list[tuple[float, str]]:
    return [(at, one.task.name) for at, one in laid_out(text).happenings if isinstance(one, Arrive)]


def mistakes(text: str) -> list[str]:
    with pytest.raises(ScenarioError) as raised:
        laid_out(text)
    return str(raised.value).splitlines()


def test_a_node_line_is_a_real_node() -> None:
    scenario = read_scenario(
        "node n1 gpu=8 cpu=64 label:zone=a taint:gpu=h100:NoSchedule taint:old:NoExecute cordoned not-ready"
    )
    assert node_document(scenario.nodes[0]) == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1", "uid": "node:n1", "labels": {"kubernetes.io/hostname": "n1", "zone": "a"}},
        "spec": {
            "unschedulable": True,
            "taints": [
                {"key": "gpu", "value": "h100", "effect": "NoSchedule"},
                {"key": "old", "value": "", "effect": "NoExecute"},
            ],
        },
        "status": {
            "allocatable": {"pods": "110", "nvidia.com/gpu": "8", "cpu": "64"},
            "conditions": [{"type": "Ready", "status": "False"}],
        },
    }
    node = laid_out("node n1 gpu=8 taint:gpu=h100:NoSchedule cordoned not-ready pods=20").nodes[0]
    assert (node.allocatable, node.taints) == ({"nvidia.com/gpu": 8000, "pods": 20}, (Taint("gpu", "h100"),))
    assert (node.cordoned, node.ready) == (True, False)


def test_a_member_of_a_gang_is_a_real_pod() -> None:
    line = read_scenario("gang training members=8 minimum=6 gpu=1 mem=1Gi priority=9 runtime=1h queue=q").pods[0]
    assert pod_document(line, "training-0", 60, "phalanx") == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "training-0",
            "namespace": "default",
            "uid": "default:training-0:1",
            "creationTimestamp": "1970-01-01T00:01:00Z",
            "labels": {"phalanx.dev/queue": "q"},
            "annotations": {
                "phalanx.dev/expected-runtime": "3600s",
                "phalanx.dev/gang": "training",
                "phalanx.dev/minimum": "6",
            },
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "training", "uid": "job:training", "controller": True}
            ],
        },
        "spec": {
            "schedulerName": "phalanx",
            "priority": 9,
            "containers": [
                {
                    "name": "main",
                    "resources": {
                        "requests": {"nvidia.com/gpu": "1", "memory": "1Gi"},
                        "limits": {"nvidia.com/gpu": "1"},
                    },
                }
            ],
            "nodeSelector": {},
            "tolerations": [],
        },
        "status": {"phase": "Pending"},
    }


def test_a_pod_says_where_it_runs_what_it_tolerates_and_which_port_it_takes() -> None:
    task = tasks(
        """
        pod  web  cpu=500m example.com/dongle=2 on=n1 created=5s priority=-1 port=80 label:app=web select:zone=a
        pod  any  tolerate:* tolerate:gpu tolerate:gpu=h100:NoSchedule controlled scheduler=other
        node n1   cpu=4
        """
    )
    web, anyone = task["web"], task["any"]
    assert (web.state, web.node, web.created, web.started) == (State.RUNNING, "n1", 5.0, 5.0)
    assert dict(web.shape.requests) == {"cpu": 500, "example.com/dongle": 2, "pods": 1}
    assert (web.shape.priority, web.shape.host_ports, web.labels) == (-1, (HostPort(80),), {"app": "web"})
    assert web.shape.node_selector is not None
    assert [(one.key, one.values) for one in web.shape.node_selector.labels] == [("zone", ("a",))]
    assert (web.controlled, anyone.controlled, anyone.ours) == (False, True, False)
    assert set(anyone.shape.tolerations) == {
        Toleration(operator="Exists"),
        Toleration("gpu", "Exists"),
        Toleration("gpu", "Equal", "h100", "NoSchedule"),
    }


def test_names_expand_to_ranges_and_members_arrive_one_by_one() -> None:
    assert [node.name for node in laid_out("node n1..n3 cpu=1").nodes] == ["n1", "n2", "n3"]
    assert [node.name for node in laid_out("node n08..10 cpu=1").nodes] == ["n08", "n09", "n10"]
    assert arrivals("pod p1..p2 cpu=1 created=1m every=5s") == [(60, "p1"), (65, "p2")]
    assert arrivals("gang a1..a2 members=2 created=1s every=2s apart=1m") == [
        (1, "a1-0"),
        (3, "a1-1"),
        (61, "a2-0"),
        (63, "a2-1"),
    ]


def test_the_minimum_of_a_gang_is_all_its_members_unless_it_says_otherwise() -> None:
    found = tasks("gang a members=3\ngang b members=3 minimum=2 maximum=3 start-timeout=5m preemptible=false")
    assert found["a-0"].membership == Membership("default/a", 3)
    assert found["b-2"].membership == Membership("default/b", 2, 3, start_timeout=300.0, preemptible=False)


def test_lines_of_one_name_are_one_gang_and_share_what_only_one_of_them_says() -> None:
    found = tasks(
        """
        node n1   cpu=8
        gang serve subgroup=decode  members=2 runtime=1h
        gang serve subgroup=prefill members=3 subgroup-minimum=1
        gang grown members=2 on=n1
        gang grown members=2
        """
    )
    assert list(found) == [
        *("serve-decode-0", "serve-decode-1", "serve-prefill-0", "serve-prefill-1", "serve-prefill-2"),
        *("grown-0", "grown-1", "grown-2", "grown-3"),
    ]
    decode, prefill = found["serve-decode-1"], found["serve-prefill-2"]
    assert decode.membership == Membership("default/serve", 3, subgroup="decode", subgroup_minimum=2)
    assert prefill.membership == Membership("default/serve", 3, subgroup="prefill", subgroup_minimum=1)
    assert (decode.expected_runtime, prefill.expected_runtime) == (3600.0, 3600.0)
    assert [(task.node, task.membership) for name, task in found.items() if name.startswith("grown")] == [
        *[("n1", Membership("default/grown", 4))] * 2,
        *[(None, Membership("default/grown", 4))] * 2,
    ]


def test_chance_is_drawn_by_seed_and_another_gang_changes_nothing_for_this_one() -> None:
    alone, other = "gang a members=1 runtime=1h±10%", "\ngang b members=1 runtime=2h+-50%"
    first = laid_out(alone, seed=7).runtimes
    assert first == laid_out(alone, seed=7).runtimes
    assert laid_out(alone + other, seed=7).runtimes["default/a"] == first["default/a"]
    assert laid_out(alone, seed=8).runtimes != first
    assert 3240 <= first["default/a"] <= 3960


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (
            "nod n1",
            (
                "1: found 'nod', allowed are node, queue, budget, gang, pod, network, fail, relabel, scale; "
                "did you mean node?"
            ),
        ),
        ("\n\nnode", "3: node: the name is missing: node NAME"),
        ("node gpu=8", "1: node: the name is missing: node NAME gpu=8"),
        ("node N1", "1: node N1: allowed is a name of lower-case letters, digits, - and ."),
        ("node n4..n1", "1: node n4..n1: found a range that is none, allowed is NAME1..NAME4 with rising numbers"),
        ("node n1..m4", "1: node n1..m4: found a range that is none, allowed is NAME1..NAME4 with rising numbers"),
        ("node n0..n999999", "1: node n0..n999999: found 1000000 names, allowed are at most 100000"),
        ("gang g", "1: gang g: members: missing, allowed is members=…"),
        ("gang g members", "1: gang g: members: the value is missing, allowed is members=…"),
        ("gang g members=0", "1: gang g: members: found '0', allowed is a whole number from 1 to 100000"),
        ("gang g members=٣", "1: gang g: members: found '\\u0663', allowed is a whole number from 1 to 100000"),
        ("pod p cpu=1 cpu=2", "1: pod p: cpu: given twice, allowed is once"),
        ("pod p gpu=1 nvidia.com/gpu=1", "1: pod p: nvidia.com/gpu: given twice, allowed is once"),
        ("pod p gpu=0.5", "1: pod p: gpu: found '0.5', allowed is a whole number of nvidia.com/gpu"),
        ("pod p cpu=-1", "1: pod p: cpu: found '-1', allowed is zero or more"),
        (
            "pod p priority=high",
            "1: pod p: priority: found 'high', allowed is a whole number from -2147483648 to 2147483647",
        ),
        ("pod p port=0", "1: pod p: port: found '0', allowed is a port from 1 to 65535"),
        ("pod p created=5x", "1: pod p: created: found '5x', allowed is a duration such as 90s, 5m, 1h30m or 2d"),
        (
            "pod p runtime=1h±100%",
            "1: pod p: runtime: found '1h\\xb1100%', allowed is a duration, or one with a spread below 100%: 1h±10%",
        ),
        ("gang g members=1 preemptible=no", "1: gang g: preemptible: found 'no', allowed is true or false"),
        ("node n1 cordoned=yes", "1: node n1: cordoned: found 'cordoned=yes', allowed is cordoned without a value"),
        ("node n1 label:zone", "1: node n1: found 'label:zone', allowed is label:KEY=VALUE"),
        (
            "node n1 taint:gpu:NoShedule",
            (
                "1: node n1: found 'taint:gpu:NoShedule', allowed is taint:KEY[=VALUE]:EFFECT with an effect of"
                " NoSchedule, PreferNoSchedule, NoExecute; did you mean NoSchedule?"
            ),
        ),
        ("node n1\nnode n1", "1: node n1: found 2 nodes of this name, allowed is one"),
        ("node node-1\npod p on=nodee-1", "2: p: on: found nodee-1, which is no node; did you mean node-1?"),
        ("pod p\ngang p members=1", "1: pod p: found another pod or gang of this name, allowed is one"),
        ("node node-1\nfail node1 at=1h", "2: fail node1: no node has this name; did you mean node-1?"),
        ("fail n1", "1: fail n1: at: missing, allowed is at=…"),
        (
            "gang training members=1\nscale trainin members=2 at=1h",
            "2: scale trainin: no gang without subgroups has this name; did you mean training?",
        ),
        (
            "gang g1..g99 members=100000",
            "1: found 9900000 pods in all, allowed are at most 1000000",
        ),
    ],
)  # fmt: skip
def test_a_mistake_names_the_line_the_word_and_what_is_allowed(text: str, mistake: str) -> None:
    assert mistakes(text)[0] == f"scenario:{mistake}"


def test_an_unknown_word_is_refused_with_all_that_are_known_and_the_nearest() -> None:
    assert mistakes("fail n1 att=1h") == ["scenario:1: fail n1: found 'att=1h', allowed are at, for; did you mean at?"]
    [mistake] = mistakes("gang g membres=8")
    assert mistake.startswith("scenario:1: gang g: found 'membres=8', allowed are cpu, memory, mem, gpu, ")
    assert mistake.endswith("tolerate:; did you mean members?")


def test_every_line_with_a_mistake_is_told_at_once() -> None:
    assert [line.split(" ")[0] for line in mistakes("node\nnode n1\n\npod p cpu=x # no\npod q")] == [
        "scenario:1:",
        "scenario:4:",
    ]


def test_what_only_the_dialect_refuses_is_told_with_its_line_too() -> None:
    [mistake] = mistakes("pod a\n\ngang b members=1 runtime=9000d")
    assert mistake.startswith("scenario:3: Pod default/b-0: metadata.annotations[phalanx.dev/expected-runtime]: ")


def test_a_huge_word_gives_a_short_line() -> None:
    [mistake] = mistakes(f"pod p cpu={'9' * 1_000_000}")
    assert len(mistake) < 200


@pytest.mark.parametrize(
    ("text", "value", "again"),
    [
        ("90s", 90, "1m30s"),
        ("1h30m", 5400, "1h30m"),
        ("2d", 172800, "2d"),
        ("1d12h", 129600, "1d12h"),
        ("0.5s", 0.5, "0.5s"),
    ],
)
def test_durations_are_read_and_written(text: str, value: float, again: str) -> None:
    assert (seconds(text), written(value)) == (value, again)


_WORDS = st.one_of(
    st.sampled_from([word for kind in words.VALUES for word in words.allowed(kind)]),
    st.text(max_size=8),
)
_VALUES = st.one_of(st.sampled_from(["1", "8Gi", "1h", "n1", "a"]), st.text(max_size=5))
_LINES = st.builds(
    lambda kind, name, pairs: " ".join([kind, name, *(f"{word}={value}" for word, value in pairs)]),
    st.sampled_from([*words.VALUES, "", "nodes"]),
    st.one_of(st.sampled_from(["n1", "n1..n3", "a", "x..y"]), st.text(max_size=5)),
    st.lists(st.tuples(_WORDS, _VALUES), max_size=4),
)


@given(st.lists(_LINES, max_size=6))
def test_any_text_is_read_or_refused_line_by_line_and_never_breaks_anything(lines: list[str]) -> None:
    try:
        timeline(read_scenario("\n".join(lines)))
    except ScenarioError as error:
        told = str(error).split("\n")
        assert all(line.startswith("scenario:") for line in told)
