"""Names in a policy mean built-ins or classes that installed packages announce by entry point."""

from collections.abc import Callable
from pathlib import Path

import pytest

from phalanx.policy.load import PolicyError, parse_policy
from phalanx.policy.registry import ACTIONS, PLUGINS, origin
from phalanx.policy.show import resolved

MODULE = """
from dataclasses import dataclass
from typing import ClassVar, Literal
from phalanx.plugin_api import Plugin, Seconds

@dataclass(frozen=True, slots=True)
class Patient(Plugin):
    name: ClassVar[str] = "patient"
    wait: Seconds
    pair: tuple[int, float] = (1, 2.0)
    many: tuple[str, ...] = ()
    maybe: int | None = None

    def score(self, session, request, nodes, copies): ...

@dataclass(frozen=True, slots=True)
class Speechless(Plugin):
    name: ClassVar[str] = "speechless"
    def room(self, session, request): ...

@dataclass(frozen=True, slots=True)
class Idle(Plugin):
    name: ClassVar[str] = "idle"
    def scores(self, session, request, nodes, copies): ...

@dataclass(frozen=True, slots=True)
class Guard(Plugin):
    name: ClassVar[str] = "guard"
    def mask(self, session, gang): ...

not_a_class = 7
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a package with entry points on the path, as an installer would."""

    def install(package: str, code: str, **points: str) -> None:
        module = package.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(code)
        metadata = tmp_path / f"{module}-1.2.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        lines = "".join(f"{name} = {module}:{value}\n" for name, value in points.items())
        (metadata / "entry_points.txt").write_text(f"[phalanx.plugins]\n{lines}")
        monkeypatch.syspath_prepend(tmp_path)

    return install


def policy_text(plugin: str) -> str:
    return f"extends: default\nplugins:\n- {plugin}\n"


def mistakes(plugin: str) -> list[str]:
    with pytest.raises(PolicyError) as raised:
        parse_policy(policy_text(plugin), "my.yaml")
    return str(raised.value).splitlines()


def test_every_built_in_is_listed_under_its_own_name() -> None:
    assert [cls.name for cls in PLUGINS.values()] == list(PLUGINS)
    assert [cls.name for cls in ACTIONS.values()] == list(ACTIONS)


def test_a_plugin_by_entry_point_is_used_like_a_built_in(install: Install) -> None:
    install("patience-of-acme", MODULE, patient="Patient")
    policy = parse_policy(
        policy_text("{name: patient, arguments: {wait: 1m30s, pair: [3, 4], many: [a, b]}}"), "my.yaml"
    )
    assert repr(policy.plugins[0].plugin) == "Patient(wait=90.0, pair=(3, 4.0), many=('a', 'b'), maybe=None)"
    assert origin("patient") == "by entry point from patience-of-acme 1.2"
    written_out = resolved(policy)
    assert "# by entry point from patience-of-acme 1.2:\n- name: patient\n" in written_out
    assert parse_policy(written_out, "my.yaml") == policy


def test_a_plugin_that_only_says_who_may_leave_is_a_plugin(install: Install) -> None:
    install("guards-of-acme", MODULE, guard="Guard")
    policy = parse_policy(policy_text("{name: guard}"), "my.yaml")
    assert [victim.name for victim in policy.victims] == ["guard"]


def test_its_arguments_are_checked_as_carefully(install: Install) -> None:
    install("patience-of-beta", MODULE.replace("Patient", "Beta").replace("patient", "beta"), beta="Beta")
    assert mistakes("{name: beta, arguments: {wait: soon, pair: [3], many: [1], maybe: x}}") == [
        "my.yaml:3: plugins[0].arguments.wait: found 'soon', allowed is a duration such as 10s, 5m or 1h30m",
        "my.yaml:3: plugins[0].arguments.pair: found a list, allowed is a list of 2",
        "my.yaml:3: plugins[0].arguments.many[0]: found 1, allowed is text",
        "my.yaml:3: plugins[0].arguments.maybe: found 'x', allowed is a whole number",
    ]
    assert mistakes("{name: beta}") == ["my.yaml:3: plugins[0].arguments.wait: missing, it has no default"]


def test_a_broken_package_refuses_only_when_it_is_named(install: Install) -> None:
    install("broken", "raise RuntimeError('no\\nluck')", unlucky="Unlucky")
    assert parse_policy(policy_text("{name: gang}"), "my.yaml").groups
    said = "the entry point broken:Unlucky of broken 1.2 cannot be imported: RuntimeError: no"
    assert mistakes("{name: unlucky}") == [f"my.yaml:3: plugins[0].name: 'unlucky': {said}"]


def test_a_plugin_whose_own_check_fails_is_named_and_not_a_traceback(install: Install) -> None:
    clumsy = MODULE.replace("Patient", "Clumsy").replace("patient", "clumsy").replace("wait: Seconds", "wait: int = 1")
    install("theta", clumsy.replace("def score", "def __post_init__(self): 1 + ''\n    def score"), clumsy="Clumsy")
    said = "Clumsy cannot be made of these: TypeError: unsupported operand type(s) for +: 'int' and 'str'"
    assert mistakes("{name: clumsy}") == [f"my.yaml:3: plugins[0].arguments: {said}"]
    install("iota", MODULE.replace("wait: Seconds", "wait: 'Nowhere'"), patient="Patient")
    said = "the entry point iota:Patient of iota 1.2 cannot be imported: NameError: name 'Nowhere' is not defined"
    assert mistakes("{name: patient}") == [f"my.yaml:3: plugins[0].name: 'patient': {said}"]


def test_a_misspelt_name_is_led_to_the_entry_point(install: Install) -> None:
    install("gamma", "", thrifty="Thrifty")
    assert "unknown plugin, did you mean thrifty? (allowed: node_ready," in mistakes("{name: thirfty}")[0]


def test_an_entry_point_that_is_no_whole_plugin_is_refused(install: Install) -> None:
    names = {"number": "not_a_class", "misnamed": "Patient", "speechless": "Speechless", "idle": "Idle"}
    install("delta", MODULE, **names)
    assert [mistakes(f"{{name: {name}}}")[0].partition("of delta 1.2: ")[2] for name in names] == [
        "found '7', allowed is a dataclass derived from phalanx.plugin_api.Plugin",
        "the class calls itself 'patient', the entry point misnamed",
        "has room() but not refusals(), so that nobody could be told why a node is full",
        "has none of room(), score(), take(), gang_key(), queue_key(), check(), mask(), so it does nothing",
    ]


def test_a_name_that_two_packages_offer_is_refused(install: Install) -> None:
    install("epsilon", MODULE, shared="Patient")
    install("zeta", MODULE, shared="Patient")
    assert mistakes("{name: shared}") == [
        "my.yaml:3: plugins[0].name: 'shared': offered by more than one package: epsilon 1.2, zeta 1.2"
    ]


def test_a_built_in_keeps_its_name(install: Install) -> None:
    install("eta", "raise RuntimeError", gang="Gang")
    assert parse_policy(policy_text("{name: gang}"), "my.yaml").groups
