"""Parts of GPUs that containers ask for in resources: so many GPUs, and so much memory and compute of each.

Device plugins that share GPUs count such resources in their own way, so what they stand for is read container by
container and is no request beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from phalanx.dialects.core.parts import Asked
from phalanx.dialects.core.pod_objects import Container, Pod, PodSpec
from phalanx.dialects.mistakes import FieldError, under
from phalanx.model.axis import GPU, unit
from phalanx.model.quantity import QuantityError, request, shown
from phalanx.model.sharing import DEVICES_MAX, WHOLE, Part
from phalanx.model.task import Hold

#: More bytes than any device has.
MEMORY_MAX = 2**50
HUNDRED = 100
_GPUS = frozenset({GPU})


@dataclass(frozen=True, slots=True)
class Asking:
    """What one container asks for in some resources."""

    container: str
    #: By resource: the field, and the quantity as it is written.
    values: Mapping[str, tuple[str, object]]

    def field(self, name: str) -> str:
        """Return the field of a resource that it names."""
        return self.values[name][0]

    def amount(self, name: str, least: int, most: int, allowed: str) -> int | None:
        """Return how much it asks for; None: it does not say."""
        if name not in self.values:
            return None
        field, value = self.values[name]
        try:
            found = request(value, name) // unit(name)
        except QuantityError as error:
            raise FieldError(field, str(error)) from None
        if not least <= found <= most:
            raise FieldError(field, f"found {shown(value)}, allowed is {allowed}")
        return found

    def devices(self, name: str) -> int | None:
        """Return how many devices it asks for."""
        return self.amount(name, 1, DEVICES_MAX, f"a whole number from 1 to {DEVICES_MAX}")

    def percent(self, name: str, least: int = 1) -> int | None:
        """Return how many hundredths of each device it asks for."""
        return self.amount(name, least, HUNDRED, f"a whole number of percent from {least} to {HUNDRED}")


def asking(spec: PodSpec, names: frozenset[str]) -> list[Asking]:
    """Return the containers that name one of these resources, init containers last."""
    # Every pod is asked, and most have none.
    if not (_named(spec.containers, names) or _named(spec.init_containers, names)):
        return []
    found = []
    for listed, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for index, one in enumerate(containers or ()):
            if one.resources is None:
                continue
            values: dict[str, tuple[str, object]] = {}
            for kind, amounts in (("limits", one.resources.limits), ("requests", one.resources.requests)):
                if amounts and not names.isdisjoint(amounts):
                    path = f"spec.{listed}[{index}].resources.{kind}"
                    values |= {
                        name: (under(path, name), amounts[name])
                        for name in sorted(names & amounts.keys() - values.keys())
                    }
            if values:
                found.append(Asking(f"spec.{listed}[{index}]", values))
    return found


def had_whole(pod: Pod, allocated: str, side: str) -> Asked | None:
    """Return whole GPUs as parts of a pod that a program on its node has given them, and that names them."""
    if not (pod.metadata.annotations or {}).get(allocated) or not pod.spec.node_name:
        return None
    containers = asking(pod.spec, _GPUS)
    if not containers:
        return None
    devices = sum(one.devices(GPU) or 1 for one in containers)
    part = Part(min(devices, DEVICES_MAX), milli=WHOLE, cores=WHOLE, side=side)
    return Asked(part, containers[0].field(GPU), (GPU,))


def _named(containers: list[Container] | None, names: frozenset[str]) -> bool:
    for one in containers or ():
        resources = one.resources
        if resources is not None and not (
            names.isdisjoint(resources.limits or ()) and names.isdisjoint(resources.requests or ())
        ):
            return True
    return False


def several(containers: list[Asking]) -> Hold | None:
    """Return why a pod is held of which more than one container, or one that runs before the others, asks for parts."""
    if len(containers) == 1 and containers[0].container.startswith("spec.containers"):
        return None
    odd = containers[-1]
    return Hold(
        f"{odd.container}.resources",
        "parts of GPUs are given to one container of a pod by this version, which is no init one",
    )
