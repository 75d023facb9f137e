"""The chart in `charts/phalanx` and `phalanx install --print` are made from one source and refuse the same values."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from phalanx import __version__
from phalanx.kube.install import Installation, objects
from phalanx.kube.installation.chart import chart_files
from phalanx.kube.installation.reading import ValuesError, read_values
from phalanx.kube.installation.values import Values
from phalanx.kube.local import ControlPlane, LocalError

Helm = Callable[..., str]

WRONG = [
    ("replicas: two", "replicas: found 'two': expected `int`, got `str`"),
    ("replicas: 0", "replicas: found 0: expected `int` >= 1"),
    ("image: {pullpolicy: Always}", "image.pullpolicy: no such value, did you mean pullPolicy?"),
    ("image: {pullPolicy: Sometimes}", "image.pullPolicy: found 'Sometimes': invalid enum value 'Sometimes'"),
    ("image: {repository: 'phalanx:1'}",
     "image.repository: found 'phalanx:1', allowed is an image without its tag, such as HOST/phalanx"),
    ("image: {tag: a b}", "image.tag: found 'a b', allowed is a tag such as 0.1.0"),
    ("image: {digest: sha256}", "image.digest: found 'sha256', allowed is sha256: and 64 hexadecimal digits"),
    ("schedulerNames: [A]", "schedulerNames[0]: found 'A', allowed is a name such as phalanx"),
    ("priorityClassName: A", "priorityClassName: found 'A', allowed is the name of a priority class"),
    ("serviceMonitor: {interval: often}", "serviceMonitor.interval: found 'often', allowed is a time such as 30s"),
    ("schedulerName: [a]", "schedulerName: no such value, did you mean schedulerNames?"),
    ("schedulerNames: []", "schedulerNames: found []: expected `array` of length >= 1"),
    ("lease: {duration: 5}", "lease: allowed are rising numbers, retryPeriod below renewDeadline below duration"),
    ("policy: 'schedulerNames: [a]'", "policy: found schedulerNames, which is a value of its own beside policy"),
    ("extraArgs: [port]",
     "extraArgs[0]: found 'port', allowed is an option of phalanx run such as --eviction-rate=100"),
    ("rbac: {extraRules: {volcano: [{verbs: [get]}]}}",
     "rbac.extraRules[...][0]: object missing required field `apiGroups`"),
    ("[1]", "found list, allowed is a mapping of values"),
]  # fmt: skip

VALUES = {
    "nothing chosen": "{}",
    "a policy as a text": '{policy: "extends: default\\nplugins: []\\n", schedulerNames: [a, b.c]}',
    "a policy as a mapping": "policy: {extends: default, actions: [{name: allocate}]}",
    "everything": """
        image: {repository: host:5000/team/phalanx, tag: v1, pullPolicy: Always, pullSecrets: [{name: registry}]}
        replicas: 3
        lease: {duration: 30.5, renewDeadline: 20, retryPeriod: 0.5}
        logFormat: json
        extraArgs: [--eviction-rate=10, "--usage-prometheus=http://prometheus:9090"]
        rbac:
          extraRules:
            volcano: [{apiGroups: [scheduling.volcano.sh], resources: [podgroups], verbs: [list, watch]}]
            jobset: [{apiGroups: [jobset.x-k8s.io], resources: [jobsets], resourceNames: [a], verbs: [get]}]
            none: []
        resources: {limits: {memory: 8Gi}}
        priorityClassName: ""
        nodeSelector: {pool: system}
        tolerations: [{key: system, operator: Exists}]
        affinity: {nodeAffinity: {}}
        podAnnotations: {a/b: "true"}
        admission: {enabled: true, defaults: true, gpus: true}
        networkPolicy: {enabled: true, ingressFrom: [{namespaceSelector: {matchLabels: {name: monitoring}}}]}
        serviceMonitor: {enabled: true, interval: 10s, labels: {release: prometheus}}
        """,
    "a digest": "{keepQueues: false, image: {digest: 'sha256:%s'}}" % ("0" * 64),
    "a digest and a tag": "{image: {tag: v2, digest: 'sha256:%s'}, serviceMonitor: {enabled: true}}" % ("f" * 64),
}


@pytest.fixture
def chart(pytestconfig: pytest.Config) -> Path:
    return pytestconfig.rootpath / "charts" / "phalanx"


def test_the_committed_chart_is_what_the_manifests_make(chart: Path) -> None:
    """If not: `make chart`."""
    made = chart_files()
    assert {path: (chart / path).read_text() for path in made} == made
    by_hand = {"NOTES.txt", "_values.tpl"}
    assert {f"templates/{file.name}" for file in (chart / "templates").iterdir()} == {
        path for path in made if path.startswith("templates/")
    } | {f"templates/{name}" for name in by_hand}


def test_the_commented_values_are_the_defaults_and_the_chart_has_this_version(chart: Path) -> None:
    assert yaml.safe_load((chart / "values.yaml").read_text()) == msgspec.to_builtins(Values())
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    assert {about["version"], about["appVersion"]} == {__version__}


@pytest.mark.parametrize(("values", "complaint"), WRONG)
def test_a_value_that_cannot_be_is_one_line(values: str, complaint: str) -> None:
    with pytest.raises(ValuesError) as mistake:
        read_values([("mine.yaml", values)])
    assert str(mistake.value) == f"mine.yaml: {complaint}"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("replicas: 2\nimage: }", "mine.yaml:2: not YAML: did not find expected node content"),
        ("replicas: 2\nreplicas: 3", "mine.yaml:2: not YAML: "),
    ],
)
def test_a_file_that_is_no_yaml_is_one_line_with_its_number(text: str, complaint: str) -> None:
    with pytest.raises(ValuesError) as mistake:
        read_values([("mine.yaml", text)])
    assert str(mistake.value).startswith(complaint)


def as_helm(helm: Helm, chart: Path, folder: Path, values: str) -> list[dict[str, Any]]:
    (folder / "values.yaml").write_text(values)
    told = helm(
        "template",
        "red",
        chart,
        "--namespace=gpu",
        "--include-crds",
        "--kube-version=1.36",
        f"--values={folder}/values.yaml",
    )
    return list(yaml.safe_load_all(told))


def by_name(objects: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Objects by kind and name; the policy as what it means, because helm has a hand of its own in writing YAML."""
    for one in objects:
        if one["kind"] == "ConfigMap":
            one["data"]["policy.yaml"] = yaml.safe_load(one["data"]["policy.yaml"])
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_helm_and_install_give_the_same_objects(values: str, helm: Helm, chart: Path, tmp_path: Path) -> None:
    """All but the namespace, which helm makes itself."""
    installation = Installation("red", "gpu", read_values([("values.yaml", values)]))
    printed = [one for one in objects(installation) if one["kind"] != "Namespace"]
    assert by_name(as_helm(helm, chart, tmp_path, values)) == by_name(printed)


def test_a_real_api_server_knows_every_field_of_every_choice(control_plane: ControlPlane) -> None:
    """All but the Prometheus operator's object, whose definition is not there, and what 1.35 does not have yet."""
    chosen = Installation("red", "default", read_values([("values.yaml", VALUES["everything"])]))
    new = {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"} if control_plane.version == "1.35" else set()
    unknown = {"ServiceMonitor", "CustomResourceDefinition"} | new
    known = [one for one in objects(chosen) if one["kind"] not in unknown]
    told = control_plane.kubectl(
        "apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=yaml.safe_dump_all(known)
    )
    assert len(told.splitlines()) == len(known) == 31 - 2 * len(new)


def test_helm_finds_nothing_wrong_with_the_chart(helm: Helm, chart: Path) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", chart)


@pytest.mark.parametrize("values", [values for values, _ in WRONG])
def test_helm_refuses_what_install_refuses(values: str, helm: Helm, chart: Path, tmp_path: Path) -> None:
    with pytest.raises(
        LocalError, match=r"don't meet the specifications of the schema|lease: |policy: |cannot unmarshal"
    ):
        as_helm(helm, chart, tmp_path, values)
