"""The row of the Workload API."""

from functools import partial

from phalanx.dialects.dialect import Dialect, Kind, Version
from phalanx.dialects.workload import objects, pods
from phalanx.dialects.workload.groups import (
    COMPOSITE,
    CONDITIONS,
    GROUP,
    WITH_GROUPS,
    read_composite,
    read_group,
    read_templates,
    read_workload,
)
from phalanx.dialects.workload.status import group_status
from phalanx.model.events import GroupsGone

#: Newest first. 1.36 fills in a priority only where a feature gate is on, later releases always.
_PRIORITIES = {"v1beta1": 0, "v1alpha3": 0, "v1alpha2": None}
_COMPOSITES = "v1alpha3"

WORKLOADS = Kind(
    kind="Workload",
    group=GROUP,
    plural="workloads",
    gone=GroupsGone,
    awaited=True,
    versions=(
        # A template, which binds nobody: read in files, so that it is known, and not watched.
        *(
            Version(name, objects.Templates, partial(read_templates, api_version=f"{GROUP}/{name}"), watched=False)
            for name in _PRIORITIES
        ),
        Version(WITH_GROUPS.rpartition("/")[2], objects.Workload, read_workload),
    ),
    qualified=False,
)
POD_GROUPS = Kind(
    kind="PodGroup",
    group=GROUP,
    plural="podgroups",
    gone=GroupsGone,
    awaited=True,
    versions=tuple(
        Version(name, objects.PodGroup, partial(read_group, api_version=f"{GROUP}/{name}"), priority=priority)
        for name, priority in _PRIORITIES.items()
    ),
    qualified=False,
    prioritised=True,
    status=group_status,
)
COMPOSITES = Kind(
    kind=COMPOSITE,
    group=GROUP,
    plural="compositepodgroups",
    gone=GroupsGone,
    awaited=True,
    versions=(
        Version(
            _COMPOSITES,
            objects.CompositePodGroup,
            partial(read_composite, api_version=f"{GROUP}/{_COMPOSITES}"),
            priority=0,
        ),
    ),
    qualified=False,
    prioritised=True,
)
assert {POD_GROUPS.api_version(one) for one in POD_GROUPS.versions} == CONDITIONS.keys()

WORKLOAD = Dialect(
    name="workload", kinds=(WORKLOADS, POD_GROUPS, COMPOSITES), membership=pods.membership, references=pods.references
)
