"""Kubeconfig files that carry everything inside, so that they can be copied anywhere on the machine."""

import base64
from pathlib import Path

import yaml

from phalanx.kube.local.certificates import Pair, write_private


def write_kubeconfig(path: Path, url: str, authority: bytes, user: str, pair: Pair) -> Path:
    """Write the way to one API server as one user, for this user's eyes only."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "local", "cluster": {"server": url, "certificate-authority-data": _text(authority)}}],
        "users": [
            {
                "name": user,
                "user": {"client-certificate-data": _text(pair.certificate), "client-key-data": _text(pair.key)},
            }
        ],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": user}}],
        "current-context": "local",
    }
    write_private(path, yaml.safe_dump(document, sort_keys=False).encode())
    return path


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
