"""Every mistake in a policy file is one line: the file, the line, the key, what was found and what is allowed."""

from contextlib import suppress
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.policy.load import PolicyError, parse_policy

WEIGHTS = "allowed is a number from 0 to 1000000"
NAMES = "allowed is a list of at least one scheduler name"
ACTIONS = "allocate, backfill, consolidate, reclaim, preempt, evict_stale"
NOTHING = "unknown argument (none is allowed here)"
PRESETS = "default, kai, pod-by-pod, volcano"
KEYS = "extends, schedulerNames, actions, plugins, share, search, devices, charges, topology"
PATTERN = "allowed is a resource such as nvidia.com/mig-<n>g.*, with at most one <n>"
AMOUNT = "allowed is 0 to 1000000 or a fraction such as 1/7"
STRATEGIES = "LeastAllocated, MostAllocated, RequestedToCapacityRatio, PerResource"


def mistakes(text: str) -> list[str]:
    with pytest.raises(PolicyError) as raised:
        parse_policy(dedent(text), "my.yaml")
    return str(raised.value).splitlines()


def misspelt(argument: str) -> str:
    return f"unknown argument, did you mean {argument}?"


def test_all_mistakes_of_a_file_are_reported_in_its_order_each_at_its_line() -> None:
    assert mistakes("""\
        extends: default
        shedulerNames: [mine]
        actions:
          - name: alocate
        plugins:
          - name: resource_fit
            weight: heavy
            arguments:
              stratgy: MostAllocated
              resources:
                nvidia.com/gpu: {weight: 2.5}
                cpu: {wieght: 1}
          - {name: gang, argumnets: {}}
        search:
          steps: 0
    """) == [
        f"my.yaml:2: shedulerNames: unknown key, did you mean schedulerNames? (allowed: {KEYS})",
        f"my.yaml:4: actions[0].name: 'alocate': unknown action, did you mean allocate? (allowed: {ACTIONS})",
        "my.yaml:7: plugins[0].weight: found 'heavy', allowed is a number from 0 to 1000000",
        f"my.yaml:9: plugins[0].arguments.stratgy: {misspelt('strategy')} (allowed: strategy, resources, shape)",
        "my.yaml:11: plugins[0].arguments.resources['nvidia.com/gpu'].weight: found 2.5, allowed is a whole number",
        f"my.yaml:12: plugins[0].arguments.resources.cpu.wieght: {misspelt('weight')} (allowed: weight, mode)",
        "my.yaml:13: plugins[1].argumnets: unknown key, did you mean arguments? (allowed: name, weight, arguments)",
        "my.yaml:15: search.steps: found 0, allowed is a whole number from 1 to 1000000000",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("{strategy: mostalloc}", f"strategy: found 'mostalloc', did you mean MostAllocated? (allowed: {STRATEGIES})"),
        ("{strategy: 7}", f"strategy: found 7 (allowed: {STRATEGIES})"),
        ("{strategy: }", f"strategy: found null (allowed: {STRATEGIES})"),
        ("{resources: [cpu]}", "resources: found a list, allowed is a map"),
        ("{resources: {cpu: 1}}", "resources.cpu: found 1, allowed is a map"),
        ("{resources: {cpu: {weight: true}}}", "resources.cpu.weight: found true, allowed is a whole number"),
        ("{resources: {a.b/c: {weight: 0}}}", "resources['a.b/c'].weight: found 0, allowed is 1 to 1000000"),
        ("{shape: {utilization: 0}}", "shape: found a map, allowed is a list"),
        ("{shape: [{utilization: 5}]}", "shape[0].score: missing, it has no default"),
        ("{shape: []}", "shape: found utilization [], allowed are rising numbers from 0 to 100"),
    ],
)  # fmt: skip
def test_an_argument_says_what_it_may_be(arguments: str, said: str) -> None:
    text = f"extends: default\nplugins:\n- name: resource_fit\n  arguments: {arguments}\n"
    assert mistakes(text) == [f"my.yaml:4: plugins[0].arguments.{said}"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("extends: [default]", "extends: found a list, allowed is the name of a preset or a file"),
        ("extends: kia", f"extends: 'kia': no such file or preset, did you mean kai? (presets: {PRESETS})"),
        ("schedulerNames: phalanx", f"schedulerNames: found 'phalanx', {NAMES}"),
        ("schedulerNames: []", f"schedulerNames: found a list, {NAMES}"),
        ("schedulerNames: [a, b, a]", "schedulerNames[2]: a is listed twice"),
        ("schedulerNames: [7]", "schedulerNames[0]: found 7, allowed is a scheduler name"),
        ("actions: allocate", "actions: found 'allocate', allowed is a list of {name: …}"),
        ("actions: [allocate]", "actions[0]: found 'allocate', allowed is a map such as {name: …}"),
        ("actions: [{name: allocate, weight: 2}]", "actions[0].weight: unknown key (allowed: name, arguments)"),
        ("actions: [{name: allocate, arguments: 3}]", "actions[0].arguments: found 3, allowed is a map"),
        ("actions: [{name: preempt, arguments: {moves: 3}}]", f"actions[0].arguments.moves: {NOTHING}"),
        ("plugins:", "plugins: found null, allowed is a list of {name: …}"),
        ("plugins: [{weight: 3}]", "plugins[0].name: missing, allowed is a name"),
        ("plugins: [{name: gang}, {name: gang}]", "plugins[1].name: gang is listed already, as plugins[0]"),
        ("plugins: [{name: gang, weight: -1}]", f"plugins[0].weight: found -1, {WEIGHTS}"),
        ("plugins: [{name: gang, weight: .nan}]", f"plugins[0].weight: found '.nan', {WEIGHTS}"),
        ("plugins: [{name: gang, weight: 1000001}]", f"plugins[0].weight: found 1000001, {WEIGHTS}"),
        (
            "actions: [{name: consolidate, arguments: {moves: many}}]",
            "actions[0].arguments.moves: found 'many', allowed is a whole number or unlimited",
        ),
        ("share: quota_then_weight", "share: found 'quota_then_weight', allowed is a map with name, arguments"),
        ("share: {name: quota}", "share.name: 'quota': unknown share (allowed: quota_then_weight, weighted)"),
        ("share: {name: quota_then_weight, arguments: {k: -1}}", "share.arguments.k: found -1.0, allowed is 0 to 100"),
        (
            "share: {name: quota_then_weight, arguments: {memory: {halfLife: never}}}",
            "share.arguments.memory.halfLife: found 'never', allowed is a duration such as 10s, 5m or 1h30m",
        ),
        (
            "share: {name: quota_then_weight, arguments: {memory: {window: 1s}}}",
            "share.arguments.memory.window: found 1 s, allowed is 1m to 366d",
        ),
        ("search: 20000", "search: found 20000, allowed is a map with steps"),
        ("search: {steps: 1.5}", "search.steps: found 1.5, allowed is a whole number from 1 to 1000000000"),
        ("share: {name: 2026-99-99}", "share.name: '2026-99-99': unknown share (allowed: quota_then_weight, weighted)"),
        ("7: x", f"7: unknown key (allowed: {KEYS})"),
    ],
)  # fmt: skip
def test_each_key_says_what_it_may_be(line: str, said: str) -> None:
    base = "" if line.startswith("extends") else "extends: default\n"
    assert mistakes(f"{base}{line}\n")[0] == f"my.yaml:{2 if base else 1}: {said}"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("{}", "charges: found a map, allowed is a list of {resource, as, amount, model}"),
        ("[a.b/c]", "charges[0]: found 'a.b/c', allowed is a map with resource, as, amount, model"),
        ("[{resource: a.b/c, of: d.e/f}]", "charges[0].of: unknown key (allowed: resource, as, amount, model)"),
        ("[{as: d.e/f, amount: 1}]", f"charges[0].resource: missing, {PATTERN}"),
        ("[{resource: mig, as: d.e/f, amount: 1}]", f"charges[0].resource: found 'mig', {PATTERN}"),
        ("[{resource: a/<n>-<n>, as: d.e/f, amount: 1}]", f"charges[0].resource: found 'a/<n>-<n>', {PATTERN}"),
        (
            "[{resource: a.b/c, as: d.e/*, amount: 1}]",
            "charges[0].as: found 'd.e/*', allowed is a resource such as nvidia.com/gpu",
        ),
        (
            "[{resource: a.b/c, as: gpu, amount: 1}]",
            "charges[0].as: found 'gpu', allowed is a resource such as nvidia.com/gpu",
        ),
        ("[{resource: a.b/c, as: a.b/c, amount: 1}]", "charges[0].as: a.b/c counts as itself anyway"),
        ("[{resource: a.b/c, as: d.e/f}]", f"charges[0].amount: missing, {AMOUNT}"),
        ("[{resource: a.b/c, as: d.e/f, amount: 0.5}]", f"charges[0].amount: found 0.5, {AMOUNT}"),
        ("[{resource: a.b/c, as: d.e/f, amount: true}]", f"charges[0].amount: found true, {AMOUNT}"),
        ("[{resource: a.b/c, as: d.e/f, amount: 1/0}]", f"charges[0].amount: found '1/0', {AMOUNT}"),
        ("[{resource: a.b/c, as: d.e/f, amount: <n>}]", f"charges[0].amount: found '<n>', {AMOUNT}"),
        (
            "[{resource: a.b/<n>g, as: d.e/f, amount: half}]",
            f"charges[0].amount: found 'half', {AMOUNT}, <n> or <n>/7",
        ),
        (
            "[{resource: a.b/c, as: d.e/f, amount: 1}, {resource: a.b/c, as: cpu, amount: 2}]",
            "charges[1].resource: a.b/c is listed twice",
        ),
    ],
)
def test_each_line_of_what_queues_count_says_what_it_may_be(lines: str, said: str) -> None:
    assert mistakes(f"extends: default\ncharges: {lines}\n")[0] == f"my.yaml:2: {said}"


def test_an_unknown_plugin_gets_the_nearest_spelling_and_the_list() -> None:
    [line] = mistakes("extends: default\nplugins: [{name: resource-fits}]\n")
    said = "'resource-fits': unknown plugin, did you mean resource_fit? (allowed: node_ready, taints, node_affinity, "
    assert line.startswith(f"my.yaml:2: plugins[0].name: {said}")


def test_a_key_given_twice_is_refused_where_the_second_stands() -> None:
    assert mistakes("extends: default\nsearch: {steps: 1}\nsearch: {steps: 2}\n") == [
        "my.yaml:3: search: given already, on line 2"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "extends: default\ndevices: nvidia.com/gpu",
            "my.yaml:2: devices: found 'nvidia.com/gpu', allowed is a list of resources such as nvidia.com/gpu",
        ),
        (
            "extends: default\ndevices: [gpu]",
            "my.yaml:2: devices[0]: found 'gpu', allowed is a resource such as nvidia.com/gpu or nvidia.com/mig-*",
        ),
        ("extends: default\ndevices: [a.b/c, a.b/c]", "my.yaml:2: devices[1]: a.b/c is listed twice"),
        ("", f"my.yaml:1: found an empty file, allowed is a map with {KEYS}"),
        ("- a", f"my.yaml:1: found a list, allowed is a map with {KEYS}"),
        ("a: b: c", "my.yaml:1: not YAML: mapping values are not allowed in this context"),
        (
            "plugins:\n\t- x",
            "my.yaml:2: not YAML: found character that cannot start any token (while scanning for the next token)",
        ),
        ("a: 1\n---\nb: 2", "my.yaml:2: not YAML: found another document, allowed is one"),
        ("a: \x07", "my.yaml:1: not YAML: not text: control characters are not allowed"),
        ("extends: !run rm", "my.yaml:1: not YAML: tag !run is not allowed"),
        ("search: &x {steps: 1}\nshare: *y", "my.yaml:2: not YAML: alias *y has no anchor before it"),
        ("[" * 40, "my.yaml:1: not YAML: nested more than 32 levels deep"),
        ("#" * 1_000_001, "my.yaml: found more than 1000000 characters, which is no policy"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_one_line(text: str, said: str) -> None:
    assert mistakes(text) == [said]


@given(st.text(alphabet=" \n:-[]{}&*!|>'\"%@`#,?abc019.~", max_size=40) | st.text(max_size=20))
def test_no_text_whatever_makes_anything_but_a_policy_or_a_policy_error(text: str) -> None:
    with suppress(PolicyError):
        parse_policy(text, "my.yaml")
