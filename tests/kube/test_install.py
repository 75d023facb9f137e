"""What `phalanx install --print` prints: a real API server takes it, and it gives what is needed and no more."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cyclopts
import pytest
import yaml

from phalanx import __version__
from phalanx.cli.install import register
from phalanx.cli.output import Mistake
from phalanx.cli.uninstall import register as register_uninstall
from phalanx.kube.install import PORT, UID, Installation, manifests, removal
from phalanx.policy.load import load_policy, parse_policy
from phalanx.testing.control_plane import ControlPlane, LocalError

Captured = pytest.CaptureFixture[str]


def install(*arguments: str) -> None:
    command("install", *arguments)


def uninstall(*arguments: str) -> None:
    command("uninstall", *arguments)


def command(*arguments: str) -> None:
    app = cyclopts.App(name="phalanx", result_action="return_value")
    register(app)
    register_uninstall(app)
    app(arguments, exit_on_error=False, print_error=False)


def printed(capsys: Captured, *arguments: str) -> list[dict[str, Any]]:
    install("--print", *arguments)
    return list(yaml.safe_load_all(capsys.readouterr().out))


def of(kind: str, objects: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = (one for one in objects if one["kind"] == kind)
    return found


def test_what_belongs_to_no_namespace_bears_the_name_of_the_installation(capsys: Captured) -> None:
    """So nothing of one installation is another's; only the definition of Queues is everybody's."""
    objects = printed(capsys, "--namespace", "gpu", "--name", "red")
    shared = [one for one in objects if "namespace" not in one["metadata"] and one["kind"] != "Namespace"]
    names = {one["kind"]: one["metadata"]["name"] for one in shared}
    assert names.pop("CustomResourceDefinition") == "queues.scheduling.phalanx.dev"
    assert names
    assert all({"gpu", "red"} <= set(re.split("[:.]", name)) for name in names.values())


def test_every_choice_lands_where_it_belongs_and_nowhere_is_the_default_left(capsys: Captured) -> None:
    choices = (
        "--namespace",
        "gpu",
        "--name",
        "red",
        "--image",
        "host:5000/team/phalanx:1",
        "--scheduler-name",
        "a",
        "--scheduler-name",
        "b",
    )
    objects = printed(capsys, *choices)
    assert {one["metadata"].get("namespace", "gpu") for one in objects} == {"gpu"}
    assert "phalanx-system" not in json.dumps(objects)
    names = {one["metadata"]["name"] for one in objects if "namespace" in one["metadata"]}
    assert names == {"red", "red-policy", "red-reservation"}
    container = of("Deployment", objects)["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "host:5000/team/phalanx:1"
    assert parse_policy(of("ConfigMap", objects)["data"]["policy.yaml"], "p").scheduler_names == ("a", "b")


def test_files_of_values_count_less_than_options_and_later_files_more_than_earlier(
    capsys: Captured, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("{replicas: 3, image: {tag: v1, pullPolicy: Always}, resources: {limits: {memory: 8Gi}}}")
    second.write_text("{replicas: 5, schedulerNames: [a]}")
    objects = printed(capsys, "--values", str(first), "--values", str(second), "--scheduler-name", "b", "--image", "x")
    deployment = of("Deployment", objects)["spec"]
    container = deployment["template"]["spec"]["containers"][0]
    assert (deployment["replicas"], container["image"], container["imagePullPolicy"]) == (5, "x:latest", "Always")
    assert container["resources"] == {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"memory": "8Gi"}}
    assert parse_policy(of("ConfigMap", objects)["data"]["policy.yaml"], "p").scheduler_names == ("b",)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("phalanx", "phalanx:latest"),
        ("host:5000/team/phalanx", "host:5000/team/phalanx:latest"),
        ("host:5000/team/phalanx:v1", "host:5000/team/phalanx:v1"),
        (f"phalanx@sha256:{'0' * 64}", f"phalanx@sha256:{'0' * 64}"),
        (f"a.b/c:1@sha256:{'0' * 64}", f"a.b/c:1@sha256:{'0' * 64}"),
    ],
)
def test_an_image_in_one_word_is_what_the_pods_get(given: str, found: str, capsys: Captured) -> None:
    objects = printed(capsys, "--image", given)
    assert of("Deployment", objects)["spec"]["template"]["spec"]["containers"][0]["image"] == found


def test_the_definition_of_queues_can_be_left_out_or_printed_alone(capsys: Captured) -> None:
    whole, others, alone = printed(capsys), printed(capsys, "--no-crds"), printed(capsys, "--crds-only")
    assert [one["kind"] for one in alone] == ["CustomResourceDefinition"]
    assert alone + others == whole


def test_uninstall_prints_what_was_made_and_keeps_queues_and_the_namespace_and_says_so(capsys: Captured) -> None:
    uninstall("--print", "--namespace", "gpu", "--name", "red")
    said = capsys.readouterr()
    gone = list(yaml.safe_load_all(said.out))
    # Policies that were never made are named too: one that stayed would go on refusing.
    made = {
        (one["kind"], one["metadata"]["name"])
        for one in printed(capsys, "--namespace", "gpu", "--name", "red", "--admission")
    }
    stays = {("CustomResourceDefinition", "queues.scheduling.phalanx.dev"), ("Namespace", "gpu")}
    assert {(one["kind"], one["metadata"]["name"]) for one in gone} == made - stays | {
        ("NetworkPolicy", "red"),
        ("Lease", "red"),
    }
    assert said.err == (
        "a ServiceMonitor, admission.defaults and .gpus are named only with the --values that asked for them "
        "(none does anything once the rest is gone)\n"
        "the namespace stays: kubectl delete namespace gpu\n"
        "every Queue stays, with its definition crd/queues.scheduling.phalanx.dev; --with-queues removes them\n"
    )
    uninstall("--print", "--with-queues")
    said = capsys.readouterr()
    assert list(yaml.safe_load_all(said.out))[-1]["kind"] == "CustomResourceDefinition"
    assert "kubectl annotate crd queues.scheduling.phalanx.dev phalanx.dev/delete-queues=true" in said.err


def test_the_policy_that_is_installed_is_the_default_one(capsys: Captured) -> None:
    installed, default = (
        parse_policy(of("ConfigMap", printed(capsys))["data"]["policy.yaml"], "p"),
        load_policy("default"),
    )
    assert (installed.actions, installed.plugins, installed.scheduler_names) == (
        default.actions, default.plugins, default.scheduler_names,
    )  # fmt: skip


def test_names_that_yaml_would_take_for_something_else_stay_names(capsys: Captured) -> None:
    objects = printed(capsys, "--namespace", "1e3", "--scheduler-name", "null")
    assert of("Namespace", objects)["metadata"]["name"] == "1e3"
    assert parse_policy(of("ConfigMap", objects)["data"]["policy.yaml"], "p").scheduler_names == ("null",)


def test_the_arguments_of_the_deployment_are_ones_that_run_takes(capsys: Captured, tmp_path: Path) -> None:
    """And so are those that the values suggest."""
    from phalanx.cli.run import register as register_run  # noqa: PLC0415

    app = cyclopts.App(name="phalanx")
    register_run(app)
    values = tmp_path / "values.yaml"
    values.write_text("extraArgs: [--event-rate=50, --eviction-rate=100, --wave-deadline=300]")
    arguments = of("Deployment", printed(capsys, "--values", str(values)))["spec"]["template"]["spec"]["containers"][0][
        "args"
    ]
    _, bound, _ = app.parse_args(arguments, exit_on_error=False, print_error=False)
    assert bound.arguments == {
        "policy_config_map": "phalanx-system/phalanx-policy",
        "lease_namespace": "phalanx-system",
        "lease_name": "phalanx",
        "address": "",
        "port": PORT,
        "lease_duration": 15.0,
        "renew_deadline": 10.0,
        "retry_period": 2.0,
        "log_format": "text",
        "reservation_image": f"phalanx:{__version__}",
        "reservation_service_account": "phalanx-reservation",
        "reservation_priority_class": "gpu-reservation.phalanx.phalanx-system.phalanx.dev",
        "event_rate": 50.0,
        "eviction_rate": 100.0,
        "wave_deadline": 300.0,
    }


def test_the_image_and_the_deployment_agree_on_the_user(pytestconfig: pytest.Config) -> None:
    dockerfile = (pytestconfig.rootpath / "Dockerfile").read_text()
    assert re.findall(r"^USER (.*)$", dockerfile, re.MULTILINE) == [f"{UID}:{UID}"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "--print is missing; phalanx install --print | kubectl apply -f - installs"),
        (
            ("--print", "--no-crds", "--crds-only"),
            "found --no-crds and --crds-only, allowed is one of them",
        ),
        (("--print", "--values", "no/such.yaml"), "--values no/such.yaml: no such file or directory"),
        (("--print", "--namespace", "A\n"), r"--namespace: found 'A\n', allowed is a name such as phalanx-system"),
        (("--print", "--scheduler-name", "a]"), "--scheduler-name: found 'a]', allowed is a name such as phalanx"),
        (
            ("--print", "--image", 'x"\ny'),
            """--image: found 'x"\\ny', allowed is an image such as phalanx:0.1.0 or HOST/PATH:TAG""",
        ),
    ],
)
def test_a_choice_that_cannot_be_is_one_line(arguments: tuple[str, ...], complaint: str, capsys: Captured) -> None:
    with pytest.raises(Mistake) as mistake:
        install(*arguments)
    assert (str(mistake.value), capsys.readouterr().out) == (f"install: {complaint}", "")


NAMESPACE = "phalanx-install-test"


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane) -> Iterator[list[dict[str, Any]]]:
    chosen = Installation(namespace=NAMESPACE)
    text = manifests(chosen)
    # Strict: a field that the server does not know would be a mistake that nobody sees.
    control_plane.kubectl("apply", "--validate=strict", "-f", "-", stdin=text)
    yield list(yaml.safe_load_all(text))
    control_plane.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=removal(chosen))


def test_a_real_api_server_takes_everything_as_it_is(
    control_plane: ControlPlane, installed: list[dict[str, Any]]
) -> None:
    assert control_plane.kubectl("diff", "-f", "-", stdin=yaml.safe_dump_all(installed)) == ""
    assert len(installed) == 14


def test_the_pods_meet_the_restricted_standard_which_is_enforced_there(
    control_plane: ControlPlane, installed: list[dict[str, Any]]
) -> None:
    template = of("Deployment", installed)["spec"]["template"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "one", "namespace": NAMESPACE},
        "spec": template["spec"],
    }
    assert control_plane.kubectl("create", "-f", "-", stdin=json.dumps(pod)) == "pod/one created\n"
    worse = json.loads(json.dumps(pod))
    worse["metadata"]["name"] = "two"
    worse["spec"]["containers"][0]["securityContext"]["capabilities"]["drop"] = []
    with pytest.raises(LocalError, match='violates PodSecurity "restricted:latest": unrestricted capabilities'):
        control_plane.kubectl("create", "-f", "-", stdin=json.dumps(worse))


def rules(control_plane: ControlPlane, user: str, groups: list[str], namespace: str) -> set[str]:
    """What the server says that a user may do in a namespace, as `verb resource[/name]`."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    answer = control_plane.kubectl(
        "create",
        "--validate=false",
        "-o",
        "json",
        "-f",
        "-",
        stdin=json.dumps(review),
        kubeconfig=control_plane.user(user, groups),
    )
    found = set()
    for rule in json.loads(answer)["status"]["resourceRules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                names = [f" {name}" for name in rule.get("resourceNames", [])] or [""]
                found |= {
                    f"{verb} {resource}.{group}{name}".replace(". ", " ").rstrip(".")
                    for verb in rule["verbs"]
                    for name in names
                }
    return found


CLUSTER = {
    "get pods", "list pods", "watch pods",
    "list nodes", "watch nodes",
    "list namespaces", "watch namespaces",
    "list workloads.scheduling.k8s.io", "watch workloads.scheduling.k8s.io",
    "list podgroups.scheduling.k8s.io", "watch podgroups.scheduling.k8s.io",
    "list compositepodgroups.scheduling.k8s.io", "watch compositepodgroups.scheduling.k8s.io",
    "get queues.scheduling.phalanx.dev", "list queues.scheduling.phalanx.dev", "watch queues.scheduling.phalanx.dev",
    "get queues.scheduling.run.ai", "list queues.scheduling.run.ai", "watch queues.scheduling.run.ai",
    "get podgroups.scheduling.run.ai", "list podgroups.scheduling.run.ai", "watch podgroups.scheduling.run.ai",
    "get topologies.kai.scheduler", "list topologies.kai.scheduler", "watch topologies.kai.scheduler",
    "get queues.scheduling.volcano.sh", "list queues.scheduling.volcano.sh", "watch queues.scheduling.volcano.sh",
    "get podgroups.scheduling.volcano.sh", "list podgroups.scheduling.volcano.sh",
    "watch podgroups.scheduling.volcano.sh", "patch podgroups.scheduling.volcano.sh",
    "patch queues/status.scheduling.volcano.sh",
    "get hypernodes.topology.volcano.sh", "list hypernodes.topology.volcano.sh", "watch hypernodes.topology.volcano.sh",
    "get noderesourcetopologies.topology.node.k8s.io", "list noderesourcetopologies.topology.node.k8s.io",
    "watch noderesourcetopologies.topology.node.k8s.io",
    "get devices.scheduling.koordinator.sh", "list devices.scheduling.koordinator.sh",
    "watch devices.scheduling.koordinator.sh",
    "get priorityclasses.scheduling.k8s.io", "list priorityclasses.scheduling.k8s.io",
    "watch priorityclasses.scheduling.k8s.io",
    "get poddisruptionbudgets.policy", "list poddisruptionbudgets.policy", "watch poddisruptionbudgets.policy",
    "list services", "watch services",
    *[f"{verb} {kind}" for verb in ("get", "list", "watch", "patch") for kind in
      ("persistentvolumeclaims", "persistentvolumes")],
    *[f"{verb} {kind}.storage.k8s.io" for verb in ("list", "watch") for kind in
      ("storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments")],
    "get queues/status.scheduling.phalanx.dev", "patch queues/status.scheduling.phalanx.dev",
    "update queues/status.scheduling.phalanx.dev",
    "create pods/binding", "create pods/eviction",
    "create configmaps", "get configmaps", "patch configmaps",
    "patch pods/status", "patch podgroups/status.scheduling.k8s.io",
    "create events.events.k8s.io",
    "patch events.events.k8s.io",
}  # fmt: skip
AT_HOME = {
    "create leases.coordination.k8s.io",
    "get leases.coordination.k8s.io phalanx",
    "update leases.coordination.k8s.io phalanx",
    "get configmaps phalanx-policy",
    "create pods",
    "delete pods",
}


@pytest.mark.usefixtures("installed")
def test_the_service_account_may_do_this_and_nothing_else(control_plane: ControlPlane) -> None:
    user = f"system:serviceaccount:{NAMESPACE}:phalanx"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}"]
    for namespace, more in (("default", set()), (NAMESPACE, AT_HOME)):
        anybody = rules(control_plane, "anybody", groups, namespace)
        assert rules(control_plane, user, groups, namespace) - anybody == CLUSTER | more
