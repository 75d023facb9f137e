"""The versions that the pages name are those that the table has, and on a cluster each of them is watched."""

import re
from pathlib import Path

from phalanx.dialects import table, unread
from phalanx.kube.kinds import Kind, watched

PAGES = Path(__file__).parents[2] / "docs"
GROUP = "scheduling.k8s.io"


def read() -> set[tuple[str, str]]:
    """Return the kinds and versions by which the Workload API describes gangs."""
    (row,) = [row for row in table.ROWS if row.name == "workload"]
    return {(kind.kind, version.name) for kind in row.kinds for version in kind.versions if version.watched}


def documented() -> set[tuple[str, str]]:
    """Return what the first table of the page says."""
    found = set()
    for line in (PAGES / "workload-api.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 3 and re.fullmatch(r"1\.\d+", cells[1]):
            (kind,) = re.findall(r"`(Workload|PodGroup|CompositePodGroup)`", cells[3])
            found |= {(kind, version) for version in re.findall(r"v\d\w*", cells[2].replace(GROUP, ""))}
    return found


def addresses(kind: Kind | None) -> list[str]:
    return [] if kind is None else [kind.path, *addresses(kind.older)]


def test_the_page_names_the_versions_that_are_read() -> None:
    assert documented() == read()


def test_every_version_that_is_read_is_watched_where_a_cluster_serves_it() -> None:
    paths = {path for kind in watched() for path in addresses(kind)}
    plurals = {"Workload": "workloads", "PodGroup": "podgroups", "CompositePodGroup": "compositepodgroups"}
    assert {f"/apis/{GROUP}/{version}/{plurals[kind]}" for kind, version in documented()} <= paths


def test_the_page_of_what_is_honoured_names_every_key_of_another_system_that_holds_a_pod() -> None:
    text = (PAGES / "honoured.md").read_text()
    assert [key for key in (*unread._ANNOTATIONS, *unread._LABELS) if f"`{key}`" not in text] == []
