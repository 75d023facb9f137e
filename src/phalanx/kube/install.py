"""The manifests that put Phalanx on a cluster, as YAML with comments, for `kubectl apply -f -`."""

import re
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

import msgspec
import yaml

from phalanx.kube.admission.policies import files as files_of_admission
from phalanx.kube.installation.fields import PORT, UID, Installation
from phalanx.kube.installation.reading import ValuesError, read_values
from phalanx.kube.installation.text import render
from phalanx.kube.installation.values import REPOSITORY, Image, Values
from phalanx.kube.queue_crd import NAME as QUEUE_CRD
from phalanx.kube.queue_crd import queue_crd

__all__ = [
    "PORT", "QUEUE_CRD", "UID", "Image", "InstallError", "Installation", "Values", "ValuesError", "check_names",
    "crd_text", "image_of", "manifest_files", "manifests", "objects", "read_values", "removal",
]  # fmt: skip

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*", re.ASCII)
#: host:port/path/name:tag@digest, each part as registries take them.
_IMAGE = re.compile(
    rf"(?P<repository>{REPOSITORY})(:(?P<tag>[a-zA-Z0-9_][a-zA-Z0-9._-]{{0,127}}))?"
    r"(@(?P<digest>sha256:[0-9a-f]{64}))?",
    re.ASCII,
)

_QUEUES = """\
# Queues: who owns how much of the cluster. Without any, everybody shares one without bounds.
# The rules say what the API server refuses; what it cannot see is told in a Queue's status.
# Deleting this deletes every Queue. Installations share it: it is the one thing that they do share.
"""


class InstallError(Exception):
    """A choice that cannot be installed; the text is one line that names the option and what is allowed."""


def check_names(installation: Installation) -> None:
    """Refuse names that the API server would refuse, or that would be more than a name inside YAML."""
    _check("--namespace", installation.namespace, _LABEL, 63, "a name such as phalanx-system")
    # 53: helm allows no more for a release.
    _check("--name", installation.name, _LABEL, 53, "a name such as phalanx")
    for name in installation.values.scheduler_names:
        _check("--scheduler-name", name, _SUBDOMAIN, 253, "a name such as phalanx")


def image_of(text: str) -> Image:
    """Return an image as people write it in one word; without a tag it is `latest`, as everywhere."""
    found = _IMAGE.fullmatch(text)
    if not found or len(text) > 400:
        raise InstallError(f"--image: found {text[:400]!r}, allowed is an image such as phalanx:0.1.0 or HOST/PATH:TAG")
    tag, digest = found["tag"] or "", found["digest"] or ""
    return Image(repository=found["repository"], tag=tag or ("" if digest else "latest"), digest=digest)


def manifests(installation: Installation, *, crds: bool = True, others: bool = True) -> str:
    """Return every object that an installation has, in the order in which they can be made."""
    check_names(installation)
    documents = [crd_text()] if crds else []
    for text in manifest_files().values() if others else ():
        documents += render(text, installation)
    return "---\n".join(documents)


def objects(installation: Installation) -> list[dict[str, Any]]:
    """Return the same as objects."""
    return list(yaml.safe_load_all(manifests(installation)))


def removal(installation: Installation, *, queues: bool = False) -> str:
    """Return what `kubectl delete` needs to know of each object, the scheduler first and what it stood on last.

    The namespace stays, as there may be things of others in it; so do, unless asked for, the Queues and their
    definition. Policies are named whether they were chosen or not: one that stayed would go on refusing. The lease is
    made by the scheduler itself.
    """
    turned = msgspec.structs.replace
    values = installation.values
    everything = turned(
        values,
        keep_queues=True,
        admission=turned(values.admission, enabled=True, keys=True, queues=True, bound=True),
        network_policy=turned(values.network_policy, enabled=True),
    )
    there = objects(replace(installation, values=everything))
    gone = [item for item in reversed(there) if item["kind"] not in {"Namespace", _CRD}]
    names = {"name": installation.name, "namespace": installation.namespace}
    gone.append({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": names})
    gone += [queue_crd()] if queues else []
    return "---\n".join(yaml.safe_dump(_named(item), sort_keys=False) for item in gone)


_CRD = "CustomResourceDefinition"


def _named(item: dict[str, Any]) -> dict[str, Any]:
    names = {key: item["metadata"][key] for key in ("name", "namespace") if key in item["metadata"]}
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": names}


def crd_text() -> str:
    """Return the definition of Queues."""
    return _QUEUES + yaml.safe_dump(queue_crd(), sort_keys=False, width=120)


@cache
def manifest_files() -> dict[str, str]:
    """Return the files of `manifests/`, then the admission policies, by name, with their placeholders, in order."""
    found = (resources.files("phalanx.kube") / "manifests").iterdir()
    files = sorted((file for file in found if file.name.endswith(".yaml")), key=lambda file: file.name)
    return {file.name: file.read_text("utf-8") for file in files} | files_of_admission()


def _check(option: str, found: str, allowed: re.Pattern[str], longest: int, words: str) -> None:
    if len(found) > longest or not allowed.fullmatch(found):
        raise InstallError(f"{option}: found {found[:longest]!r}, allowed is {words}")
