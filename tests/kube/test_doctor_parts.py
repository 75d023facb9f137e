"""What the doctor works out without a cluster: the rights of a scheduler, in words and as manifests; dates."""

import base64
import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from phalanx.kube.doctor.certificate import certificate_dates, token_end
from phalanx.kube.doctor.checkup import with_grant
from phalanx.kube.doctor.finding import Finding, Mark
from phalanx.kube.doctor.grant import grant, grant_command
from phalanx.kube.doctor.rights import Right, needed, printed, words
from phalanx.kube.doctor.wish import Wish
from phalanx.kube.fault import Fault, Trouble
from phalanx.kube.kinds import KUBERNETES
from phalanx.kube.local import certificates
from phalanx.kube.local.versions import VERSIONS

POLICY = ("ml", "our-policy")
WITH_POLICY = Wish(policy_config_map=POLICY)
ROLES = {"ClusterRole", "Role"}


def verbs(documents: list[dict[str, Any]]) -> set[tuple[str, str, str, bool]]:
    """Return every verb on every resource that some role gives, and whether in one namespace alone."""
    return {
        (verb, group, resource, document["kind"] == "Role")
        for document in documents
        if document["kind"] in ROLES
        for rule in document["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_what_is_checked_is_what_the_manifests_give_and_what_a_grant_gives() -> None:
    installed = verbs(list(printed()))
    assert {(one.verb, one.group, one.resource, bool(one.namespace)) for one in needed(WITH_POLICY)} == installed
    assert verbs(list(yaml.safe_load_all(grant("alice", WITH_POLICY)))) == installed


def test_the_page_names_all_that_a_scheduler_may_touch() -> None:
    page = Path("docs/install.md").read_text("utf-8").partition("## Rights\n")[2].partition("\n## ")[0]
    told = set(re.findall(r"[a-z/]+", page))
    assert {one.resource for one in needed(WITH_POLICY)} - told == set()


def test_rights_with_a_name_are_asked_for_under_the_name_that_was_chosen() -> None:
    everywhere = len([one for one in needed(WITH_POLICY) if not one.namespace])
    assert [str(one) for one in needed(Wish(lease=("gpu", "blue"), policy_config_map=POLICY))][everywhere:] == [
        "create leases.coordination.k8s.io in gpu",
        "get leases.coordination.k8s.io gpu/blue",
        "update leases.coordination.k8s.io gpu/blue",
        "get configmaps ml/our-policy",
        "create pods in gpu",
        "delete pods in gpu",
    ]
    assert [one for one in needed(Wish(lease=None)) if one.namespace] == []


def test_a_dry_run_needs_what_its_page_says() -> None:
    page = Path("docs/operate.md").read_text("utf-8").split("<!-- read rights -->")[1]
    dry = Wish(dry_run=True)
    told = verbs([yaml.safe_load(dedent(page))])
    assert {(one.verb, one.group, one.resource, False) for one in needed(dry)} == told
    assert verbs(list(yaml.safe_load_all(grant("alice", dry)))) == told
    assert grant_command("alice", dry) == "phalanx check --grant alice --dry-run | kubectl apply -f -"


def test_a_dry_run_that_may_not_read_is_told_the_line_that_lets_it() -> None:
    why = '403 nodes is forbidden: User "alice" cannot list resource "nodes" in API group "" at the cluster scope'
    fault = with_grant(Fault(Trouble.RIGHTS, why), Wish(dry_run=True))
    assert (fault.why, fault.remedy) == (why, "phalanx check --grant alice --dry-run | kubectl apply -f -")
    away = Fault(Trouble.AWAY, "connection refused")
    assert with_grant(away, Wish(dry_run=True)) == away


def test_rights_in_words_are_gathered_by_what_may_be_done() -> None:
    some = [
        Right("", "nodes", "list"), Right("", "nodes", "watch"), Right("", "pods/binding", "create"),
        Right("policy", "poddisruptionbudgets", "list"), Right("policy", "poddisruptionbudgets", "watch"),
    ]  # fmt: skip
    assert words(some) == "list, watch nodes, poddisruptionbudgets.policy; create pods/binding"


def test_a_grant_is_the_users_own_and_its_line_can_be_pasted() -> None:
    """Names come from whoever runs the cluster; what is not allowed in a role's name is replaced, and kept apart."""
    objects = list(yaml.safe_load_all(grant("arn:aws:iam::1:user/alice", Wish())))
    assert [(one["kind"], one["metadata"]["name"]) for one in objects] == [
        ("Namespace", "phalanx-system"),
        *((kind, "phalanx-run:arn:aws:iam::1:user-alice-939933e4") for kind in (
            "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
        )),
    ]  # fmt: skip
    # A namespace of the user's own is not ours to make or to restrict.
    assert "Namespace" not in {one["kind"] for one in yaml.safe_load_all(grant("alice", Wish(lease=("ml", "phalanx"))))}
    assert grant_command("a; b", Wish(lease=("ml", "blue"), policy_config_map=POLICY)) == (
        "phalanx check --grant 'a; b' --lease-namespace ml --lease-name blue --policy-config-map ml/our-policy"
        " | kubectl apply -f -"
    )


@pytest.mark.parametrize("until", [datetime(2049, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(2050, 1, 1, tzinfo=UTC)])
def test_the_dates_of_a_certificate_are_read_in_both_their_forms(
    until: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From 2050 on they are written in another form."""
    monkeypatch.setattr(certificates, "_UNTIL", until)
    pem = certificates.Authority().client("alice", ["ml"]).certificate
    assert certificate_dates(pem) == (datetime(2020, 1, 1, tzinfo=UTC).timestamp(), until.timestamp())


def test_a_certificate_that_cannot_be_read_has_no_dates() -> None:
    pem = certificates.Authority().client("alice").certificate
    data = base64.b64decode(pem.split(b"-----")[2])
    # Cut off anywhere before the end of its dates.
    for cut in range(90):
        wrapped = b"-----BEGIN CERTIFICATE-----" + base64.b64encode(data[:cut]) + b"-----END CERTIFICATE-----"
        assert certificate_dates(wrapped) is None
        assert certificate_dates(pem[:cut]) is None


def test_the_end_of_a_token_is_read_where_it_has_one() -> None:
    def token(claims: object) -> str:
        part = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
        return f"Bearer head.{part}.signature"

    assert token_end(token({"exp": 1_700_000_000})) == 1_700_000_000
    for other in (token({}), token([]), token({"exp": "soon"}), "Bearer opaque", "Bearer a.b.c", "Basic YTpi", ""):
        assert token_end(other) is None


def test_the_releases_that_are_checked_for_are_those_that_are_tested_on() -> None:
    assert KUBERNETES == VERSIONS


def test_nothing_that_runs_needs_what_a_local_control_plane_needs() -> None:
    """Its certificates take a library that is not installed with Phalanx."""
    code = "import sys, phalanx.kube.process, phalanx.kube.doctor.examine as e; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "phalanx.kube.doctor.rights" in loaded
    assert not {"cryptography", "phalanx.kube.local"} & set(loaded)


def test_nothing_is_called_wrong_without_a_remedy() -> None:
    with pytest.raises(AssertionError, match="clock: what is wrong needs a remedy"):
        Finding("clock", Mark.WARNING, "late")
