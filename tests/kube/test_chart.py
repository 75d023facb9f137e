"""The chart in `charts/phalanx` and `phalanx install --print` are made from one source and refuse the same values."""

from pathlib import Path

import msgspec
import pytest
import yaml

from phalanx import __version__
from phalanx.kube.installation.chart import chart_files
from phalanx.kube.installation.values import Values, ValuesError, read_values


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


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ("replicas: two", "replicas: found 'two': expected `int`, got `str`"),
        ("replicas: 0", "replicas: found 0: expected `int` >= 1"),
        ("image: {pullpolicy: Always}", "image.pullpolicy: no such value, did you mean pullPolicy?"),
        ("image: {pullPolicy: Sometimes}", "image.pullPolicy: found 'Sometimes': invalid enum value 'Sometimes'"),
        ("schedulerName: [a]", "schedulerName: no such value, did you mean schedulerNames?"),
        ("schedulerNames: []", "schedulerNames: found []: expected `array` of length >= 1"),
        ("lease: {duration: 5}", "lease: allowed are rising numbers, retryPeriod below renewDeadline below duration"),
        ("policy: 'schedulerNames: [a]'", "policy: found schedulerNames, which is a value of its own beside policy"),
        ("extraArgs: [port]", "extraArgs[0]: found 'port': expected `str` matching regex '^--[a-z]'"),
        ("rbac: {extraRules: {volcano: [{verbs: [get]}]}}",
         "rbac.extraRules[...][0]: object missing required field `apiGroups`"),
        ("[1]", "found list, allowed is a mapping of values"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_is_one_line(values: str, complaint: str) -> None:
    with pytest.raises(ValuesError) as mistake:
        read_values([("mine.yaml", values)])
    assert str(mistake.value) == f"mine.yaml: {complaint}"


def test_a_file_that_is_no_yaml_is_one_line_with_its_number() -> None:
    with pytest.raises(ValuesError) as mistake:
        read_values([("mine.yaml", "replicas: 2\nimage: }")])
    assert str(mistake.value).startswith("mine.yaml:2: not YAML: ")
