"""The row of NodeResourceTopology."""

from phalanx.dialects.dialect import Dialect, Kind, Version
from phalanx.dialects.numa import objects
from phalanx.model.events import DevicesGone

NUMA = Dialect(
    name="numa",
    kinds=(
        Kind(
            kind=objects.KIND,
            group=objects.GROUP,
            plural="noderesourcetopologies",
            namespaced=False,
            versions=(
                Version("v1alpha2", objects.Topology, objects.read_topology),
                Version("v1alpha1", objects.Topology, objects.read_topology, watched=False),
            ),
            gone=DevicesGone,
        ),
    ),
)
