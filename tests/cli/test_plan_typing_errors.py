"""A typing error in a key of ours names the nearest right key, wherever it stands."""

import re
from pathlib import Path

import pytest

from phalanx.cli.main import main
from phalanx.model.keys import KEYS, PREFIX, nearest

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", pods: "110"}}
---
"""
GANG = """
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml}
spec:
  parallelism: 2
  template:
    metadata:
      annotations: {ANNOTATIONS}
    spec: {schedulerName: phalanx, restartPolicy: Never, containers: [{name: main, image: train}]}
"""
NAMESPACE = """
---
apiVersion: v1
kind: Namespace
metadata: {name: ml, labels: {LABELS}}
"""


def planned(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    file = folder / "objects.yaml"
    file.write_text(NODE + text)
    assert main(["plan", "-f", str(file)]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        ('{phalanx.dev/gang: train, phalanx.dev/minimun: "2"}',
         "unknown key phalanx.dev/minimun, did you mean phalanx.dev/minimum, on pod ml/train-1"),
        ('{phalanx.dev/gnag: train, phalanx.dev/minimum: "2"}',
         "metadata.annotations[phalanx.dev/gnag]: unknown key phalanx.dev/gnag, did you mean phalanx.dev/gang"),
        ('{phalanx.dev/gang: train, phalanx.dev/minimum: "2", phalanx.dev/premptible: "false"}',
         "unknown key phalanx.dev/premptible, did you mean phalanx.dev/preemptible"),
    ],
)  # fmt: skip
def test_a_wrong_key_on_pods_is_named_with_the_right_one(
    annotations: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = planned(GANG.replace("{ANNOTATIONS}", annotations), tmp_path, capsys).splitlines()
    assert [line for line in lines if "  held: " in line and said in line], lines


def test_a_wrong_label_on_a_namespace_holds_its_pods_that_name_no_queue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = GANG.replace("{ANNOTATIONS}", "{}") + NAMESPACE.replace("{LABELS}", "{phalanx.dev/queu: team-a}")
    assert (
        "held: Namespace ml: metadata.labels[phalanx.dev/queu]: unknown key phalanx.dev/queu, "
        "did you mean phalanx.dev/queue"
    ) in planned(text, tmp_path, capsys)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("annotations: {phalanx.dev/gang: train}",
         "metadata.annotations[phalanx.dev/gang]: is read on pods only, allowed is spec.template.metadata.annotations"),
        ("labels: {phalanx.dev/queue: a}",
         "metadata.labels[phalanx.dev/queue]: is read on pods only, allowed is spec.template.metadata.labels"),
        ("annotations: {phalanx.dev/queue: a}",
         "metadata.annotations[phalanx.dev/queue]: is read on pods only, allowed is spec.template.metadata.labels"),
        ("annotations: {phalanx.dev/gnag: a}",
         "metadata.annotations[phalanx.dev/gnag]: unknown key phalanx.dev/gnag, did you mean phalanx.dev/gang"),
    ],
)  # fmt: skip
def test_a_key_on_a_job_instead_of_its_pods_is_told_with_its_place(
    keys: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its pods are planned without it: nobody reads it there."""
    file = tmp_path / "objects.yaml"
    job = GANG.replace("namespace: ml}", f"namespace: ml, {keys}}}")
    file.write_text(NODE + job.replace("{ANNOTATIONS}", "{}"))
    assert main(["plan", "-f", str(file)]) == 0
    assert capsys.readouterr().err == f"phalanx: Job ml/train: {said} ({file} document 2)\n"
    assert main(["plan", "-f", str(file), "--strict"]) == 2
    capsys.readouterr()
    # Whoever labels everything alike has labelled the pods too.
    both = '{phalanx.dev/gang: train, phalanx.dev/minimum: "2"}'
    file.write_text(NODE + GANG.replace("namespace: ml}", f"namespace: ml, annotations: {both}}}").replace(
        "{ANNOTATIONS}", both))  # fmt: skip
    assert main(["plan", "-f", str(file), "--strict"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", [["queues", "-f"], ["gangs", "-f"], ["simulate"]], ids=lambda words: words[0])
def test_every_command_that_reads_files_tells_it(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "objects.yaml"
    job = GANG.replace("namespace: ml}", "namespace: ml, annotations: {phalanx.dev/gang: train}}")
    file.write_text(NODE + job.replace("{ANNOTATIONS}", "{}"))
    assert main([*command, str(file)]) == 0
    assert "metadata.annotations[phalanx.dev/gang]: is read on pods only" in capsys.readouterr().err


@pytest.mark.parametrize(("label", "said"), [
    ("phalanx.dev/queu", "unknown key phalanx.dev/queu, did you mean phalanx.dev/queue"),
    ("phalanx.dev/gang", "is read as annotation only, not as label"),
])  # fmt: skip
def test_a_wrong_label_on_pods_is_named_with_the_right_one(
    label: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = GANG.replace("annotations: {ANNOTATIONS}", f"labels: {{{label}: a}}")
    assert f"held: metadata.labels[{label}]: {said}" in planned(job, tmp_path, capsys)


def slips(word: str) -> set[str]:
    """Return every word that leaves a letter out, doubles one, swaps two, or has another one in its place."""
    found = {word + "s", word.replace("-", ""), word.replace("-", "_"), word.title()}
    for at in range(len(word)):
        before, here, after = word[:at], word[at], word[at + 1 :]
        found |= {before + after, before + here + here + after, before + "e" + after}
        found |= {before + after[:1] + here + after[1:]}
    return found - {word, ""}


def test_of_all_single_slips_in_all_keys_every_one_is_understood() -> None:
    known = [one.key for one in KEYS]
    made = [(one.key, PREFIX + slip) for one in KEYS for slip in slips(one.word) if PREFIX + slip not in known]
    wrong = [(slip, key) for key, slip in made if nearest(slip, known) != key]
    assert len(made) > 500
    assert wrong == []


@pytest.mark.parametrize("word", ["colour", "owner", "zzz", "team", "é"])
def test_another_word_is_no_typing_error(word: str) -> None:
    assert nearest(PREFIX + word, [one.key for one in KEYS]) is None


def test_the_page_has_a_row_for_every_key() -> None:
    page = Path(__file__).parents[2] / "docs" / "honoured.md"
    table = page.read_text().partition("### Annotations and labels of ours")[2].partition("\n## ")[0]
    assert set(re.findall(rf"{re.escape(PREFIX)}[a-z-]+", table)) == {one.key for one in KEYS}


STATEFUL = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: train, namespace: ml}
spec:
  replicas: REPLICAS
  podManagementPolicy: POLICY
  template:
    metadata:
      annotations: {phalanx.dev/gang: train, phalanx.dev/minimum: "2"}
    spec: {schedulerName: phalanx, containers: [{name: main, image: train}]}
"""


@pytest.mark.parametrize(
    ("policy", "replicas", "named"), [("OrderedReady", 2, True), ("Parallel", 2, False), ("OrderedReady", 1, False)]
)
def test_a_stateful_set_that_makes_one_pod_after_the_other_cannot_be_a_gang(
    policy: str, replicas: int, named: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a cluster the gang would wait for its second pod, and the second pod for the first one to run."""
    file = tmp_path / "objects.yaml"
    file.write_text(NODE + STATEFUL.replace("POLICY", policy).replace("REPLICAS", str(replicas)))
    assert main(["plan", "-f", str(file)]) == 0
    why = "found OrderedReady, which makes one pod after the other; allowed with a minimum of 2 is Parallel"
    told = f"phalanx: StatefulSet ml/train: spec.podManagementPolicy: {why} ({file} document 2)\n"
    assert capsys.readouterr().err == (told if named else "")
