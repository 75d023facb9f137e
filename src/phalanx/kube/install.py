"""The manifests that put Phalanx on a cluster, as YAML with comments, for `kubectl apply -f -`."""

import re
from collections.abc import Sequence
from importlib import resources
from string import Template

import yaml

from phalanx.kube.queue_crd import queue_crd

#: The user in the image; the restricted standard wants a number.
UID = 65532
PORT = 10261

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*", re.ASCII)
#: host:port/path/name:tag@digest, each part as registries take them.
_IMAGE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._/:-]{0,254}(@sha256:[0-9a-f]{64})?", re.ASCII)

_QUEUES = """\
# Queues: who owns how much of the cluster. Without any, everybody shares one without bounds.
# The rules say what the API server refuses; what it cannot see is told in a Queue's status.
"""


class InstallError(Exception):
    """A choice that cannot be installed; the text is one line that names the option and what is allowed."""


def manifests(namespace: str, image: str, scheduler_names: Sequence[str]) -> str:
    """Return every object that an installation has, in the order in which they can be made."""
    # Checked here and not by the API server: what is put into YAML as text must not be able to be more than text.
    _check("--namespace", namespace, _LABEL, 63, "a name such as phalanx-system")
    _check("--image", image, _IMAGE, 400, "an image such as phalanx:0.1.0 or HOST/PATH:TAG")
    for name in scheduler_names:
        _check("--scheduler-name", name, _SUBDOMAIN, 253, "a name such as phalanx")
    values = {
        "namespace": namespace,
        "image": image,
        "scheduler_names": ", ".join(f'"{name}"' for name in scheduler_names),
        "uid": str(UID),
        "port": str(PORT),
    }
    files = sorted((resources.files("phalanx.kube") / "manifests").iterdir(), key=lambda file: file.name)
    parts = [Template(file.read_text("utf-8")).substitute(values) for file in files]
    return "---\n".join([_QUEUES + yaml.safe_dump(queue_crd(), sort_keys=False, width=120), *parts])


def _check(option: str, found: str, allowed: re.Pattern[str], longest: int, words: str) -> None:
    if len(found) > longest or not allowed.fullmatch(found):
        raise InstallError(f"{option}: found {found[:longest]!r}, allowed is {words}")
