"""Quota for a model of GPUs: H100s count beside all GPUs, for who asks for them by name, and nobody else goes there."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.model.task import State
from phalanx.policy.load import PolicyError, parse_policy
from phalanx.testing.scenario import check
from phalanx.testing.stage import Stage

H100 = "h100.nvidia.com/gpu"
POLICY = parse_policy(
    f"extends: default\ncharges: [{{resource: nvidia.com/gpu, model: H100, as: {H100}, amount: 1}}]", "models"
)
CLUSTER = """
    node h1 gpu=4 gpu-model=NVIDIA-H100-80GB-HBM3 gpu-memory=80Gi
    node t1 gpu=8 gpu-model=Tesla-T4              gpu-memory=16Gi
"""


def test_a_queue_has_so_many_h100s_and_goes_on_with_others() -> None:
    check(
        f"""
        {CLUSTER}
        queue a quota:{H100}=2 limit:{H100}=2
        gang  g members=2 gpu=1 gpu-model=H100 queue=a
        pod   more gpu=1 gpu-model=H100 queue=a created=1s
        pod   t4   gpu=4 gpu-model=T4 queue=a created=2s
        pod   any  gpu=2 queue=a created=3s
        """,
        f"""
        bind g-0 h1
        bind g-1 h1
        wait more 1 held: queue a has 2 of its limit of 2 {H100}: 1 asked, 1 too many
        bind t4 t1
        bind any t1
        """,
        policy=POLICY,
    )


def test_who_does_not_name_the_model_is_not_on_its_nodes_and_is_told() -> None:
    check(
        f"""
        node h1 gpu=4 cpu=8 gpu-model=NVIDIA-H100-80GB-HBM3
        queue a quota:{H100}=2
        pod   any  gpu=1 queue=a
        pod   cpus cpu=1 queue=a created=1s
        pod   either gpu=1 gpu-model=A100,H100 queue=a created=2s
        """,
        """
        wait any 1 never: 0/1 nodes: 1 of model H100, which queues count apart: ask for it by phalanx.dev/gpu-model
        bind cpus h1
        bind either h1
        """,
        policy=POLICY,
    )


def test_where_no_queue_lists_the_model_nothing_changes() -> None:
    check(
        "node h1 gpu=4 gpu-model=NVIDIA-H100-80GB-HBM3\nqueue a quota:gpu=2\npod any gpu=1 queue=a",
        "bind any h1",
        policy=POLICY,
    )


def test_half_an_h100_is_half_of_one_and_the_share_is_taken_back_by_model() -> None:
    check(
        f"""
        node  h1 gpu=1 gpu-model=NVIDIA-H100-80GB-HBM3 gpu-memory=80Gi
        node  t1 gpu=2 gpu-model=Tesla-T4              gpu-memory=16Gi
        queue a quota:{H100}=500m
        queue b quota:{H100}=500m
        pod   one   queue=a gpu-fraction=0.5 gpu-model=H100 on=h1 gpu-group=0 controlled
        pod   two   queue=a gpu-fraction=0.5 gpu-model=H100 on=h1 gpu-group=0 controlled created=1s
        pod   t     queue=a gpu=2 gpu-model=T4 on=t1 controlled
        pod   mine  queue=b gpu-fraction=0.5 gpu-model=H100 created=2s
        """,
        """
        evict two h1 for mine: queue b reclaims its share
        nominate mine h1 nvidia.com/gpu=0
        """,
        policy=POLICY,
    )


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["", "H100", "T4", "H100,T4"]), st.integers(1, 3)),
        min_size=1, max_size=9,
    ),
    st.integers(0, 5),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_no_queue_is_ever_on_more_of_them_than_its_limit(asks: list[tuple[str, str, int]], limit: int) -> None:
    wish = {model: f" gpu-model={model}" if model else "" for _, model, _ in asks}
    lines = [
        f"pod p{at} gpu={count}{wish[model]} queue={queue} created={at}s"
        for at, (queue, model, count) in enumerate(asks)
    ]
    queues = [f"queue {name} quota:{H100}=1 limit:{H100}={max(limit, 1)}" for name in "ab"]
    stage = Stage("\n".join([CLUSTER, *queues, *lines]), policy=POLICY)
    for moment in ("0s", "60s"):
        assert not stage.cycle(moment).broken
    there = [task for task in stage.world.tasks.values() if task.node == "h1" and task.state is not State.PENDING]
    for name in "ab":
        own = [task for task in there if task.queue == name]
        assert sum(dict(task.shape.requests)["nvidia.com/gpu"] for task in own) <= 1000 * max(limit, 1)


def test_a_line_of_the_table_names_a_model_and_twice_the_same_is_a_mistake() -> None:
    text = "extends: default\ncharges:\n"
    line = "- {{resource: nvidia.com/gpu, model: {}, as: {}, amount: 1}}\n"
    both = text + line.format("H100", H100) + line.format("T4", "t4.nvidia.com/gpu")
    assert [one.model for one in parse_policy(both, "both").charges.lines] == ["H100", "T4"]
    for wrong, told in (
        (line.format("H100", H100) * 2, "listed twice"),
        (line.format("[1]", H100), "a model of devices"),
    ):
        with pytest.raises(PolicyError, match=told):
            parse_policy(text + wrong, "wrong")
