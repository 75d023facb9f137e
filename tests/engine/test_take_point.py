"""Stories about plugins that choose the device inside a node, for pods that share one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from phalanx.engine.policy import Policy, Weighted
from phalanx.plugin_api import Float, Int, Plugin, PluginError, Request, Session
from phalanx.policy.load import load_policy
from phalanx.testing import check
from phalanx.testing.scenario import plan


@dataclass(frozen=True, slots=True)
class LastFirst(Plugin):
    """Take the device with the highest number."""

    name: ClassVar[str] = "last_first"

    def take(self, session: Session, request: Request, devices: Int) -> Float | None:
        del request
        index = session.snapshot.nodes.devices.index[devices]
        return np.asarray(index / (index.max() + 1), np.float64)


@dataclass(frozen=True, slots=True)
class Silent(LastFirst):
    name: ClassVar[str] = "silent"

    def take(self, session: Session, request: Request, devices: Int) -> Float | None:
        del session, request, devices
        return None


@dataclass(frozen=True, slots=True)
class Broken(LastFirst):
    name: ClassVar[str] = "broken"

    def take(self, session: Session, request: Request, devices: Int) -> Float | None:
        del session, request
        return np.full(len(devices), np.nan)


def with_plugin(*plugins: Plugin) -> Policy:
    default = load_policy("default")
    return Policy("chosen", default.actions, (*default.plugins, *map(Weighted, plugins)), share=default.share)


GIVEN = """
    node n1 gpu=4
    pod  there gpu-fraction=0.5 gpu-group=1 on=n1
    gang h     members=3 gpu-fraction=0.5
    pod  pair  gpu-fraction=0.25 gpu-devices=2 created=1s
    """


def test_the_device_that_a_plugin_likes_best_is_taken_before_the_tightest() -> None:
    """Without it they join who is there. The pair takes the free one too: else fewer pairs would fit after it."""
    check(
        GIVEN,
        """
        bind h-0 n1 nvidia.com/gpu=3
        bind h-1 n1 nvidia.com/gpu=3
        bind h-2 n1 nvidia.com/gpu=2
        bind pair n1 nvidia.com/gpu=2,0
        """,
        policy=with_plugin(LastFirst()),
    )
    tightest = """
        bind h-0 n1 nvidia.com/gpu=1
        bind h-1 n1 nvidia.com/gpu=0
        bind h-2 n1 nvidia.com/gpu=0
        bind pair n1 nvidia.com/gpu=2,3
        """
    check(GIVEN, tightest, policy=with_plugin(Silent()))
    check(GIVEN, tightest)


def test_where_nobody_shares_a_device_nobody_is_asked() -> None:
    check("node n1 gpu=2\npod a gpu=1", "bind a n1", policy=with_plugin(Broken()))


def test_an_answer_that_is_no_number_names_the_plugin() -> None:
    with pytest.raises(PluginError, match=r"plugin broken: take\(\) must return a number from 0 to 1 for each device"):
        plan(GIVEN, policy=with_plugin(Broken()))
