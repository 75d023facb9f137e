"""The same kubeconfigs, read by us and by the official client for Python: who we are to which server is the same."""

import asyncio
import base64
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes.client import Configuration
from kubernetes.config import load_kube_config

from phalanx.kube.credentials import load_access
from phalanx.kube.local.certificates import Authority

_AUTHORITY = Authority()
_CA, _RED = _AUTHORITY.pair.certificate, _AUTHORITY.client("red")


@dataclass(frozen=True)
class Read:
    """What a reader made of a kubeconfig."""

    server: str
    authorization: str | None
    authority: bytes | None
    certificate: bytes | None
    key: bytes | None
    verify: bool
    tls_name: str | None
    proxy: str | None


def ours(files: str, context: str | None) -> Read:
    os.environ["KUBECONFIG"] = files
    access = load_access(None, context)
    header = asyncio.run(access.authorization())
    access.ssl()
    pair = access._tls.pair
    return Read(
        access.server, header, content(access._tls._authority), content(pair.certificate if pair else None),
        content(pair.key if pair else None), access._tls._verify, access.tls_server_name, access.proxy,
    )  # fmt: skip


def theirs(files: str, context: str | None) -> Read:
    found: Any = Configuration()
    load_kube_config(files, context, client_configuration=found, persist_config=False)  # type: ignore[no-untyped-call]
    return Read(
        found.host, found.api_key.get("BearerToken"), content(found.ssl_ca_cert), content(found.cert_file),
        content(found.key_file), found.verify_ssl, found.tls_server_name, found.proxy,
    )  # fmt: skip


def content(source: bytes | str | Path | None) -> bytes | None:
    data = Path(source).read_bytes() if isinstance(source, str | Path) else source
    # PEM, which means the same with and without a line end.
    return data and data.strip()


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def config(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "prod", "cluster": {"server": "https://10.0.0.1:6443"} | (cluster or {})},
            {"name": "test", "cluster": {"server": "https://10.0.0.2"}},
        ],
        "users": [{"name": "red", "user": user or {}}, {"name": "blue", "user": {"token": "blue"}}],
        "contexts": [
            {"name": "main", "context": {"cluster": "prod", "user": "red", "namespace": "ml"}},
            {"name": "other", "context": {"cluster": "test", "user": "blue"}},
        ],
        "current-context": "main",
    }


def plugin(status: dict[str, Any]) -> dict[str, Any]:
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": ["-c", f"print({json.dumps(answer)!r})"],
            "interactiveMode": "Never",
        }
    }


DATA = {"client-certificate-data": text(_RED.certificate), "client-key-data": text(_RED.key)}
PATHS = {"client-certificate": "pki/red.crt", "client-key": "pki/red.key"}

#: Cluster and user of one file. Of a plugin's token and certificate the client for Python takes the token alone, and
#: kubectl both: that is no question here.
CORPUS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nobody": ({}, {}),
    "token": ({}, {"token": "abc"}),
    "a token in a file": ({}, {"tokenFile": "pki/token"}),
    "a password": ({}, {"username": "u", "password": "p:w"}),
    "a certificate inside": ({"certificate-authority-data": text(_CA)}, DATA),
    "a certificate in files": ({"certificate-authority": "pki/ca.crt"}, PATHS),
    "inside goes before files": ({"certificate-authority": "absent", "certificate-authority-data": text(_CA)}, DATA),
    "a certificate and a token": ({}, DATA | {"token": "abc"}),
    "no trust": ({"insecure-skip-tls-verify": True}, {"token": "abc"}),
    "another name": ({"tls-server-name": "kubernetes"}, {"token": "abc"}),
    "a proxy": ({"proxy-url": "http://proxy:3128"}, {"token": "abc"}),
    "a path": ({"server": "https://rancher/k8s/clusters/c-1/"}, {"token": "abc"}),
    "plain": ({"server": "http://localhost:8001"}, {"token": "abc"}),
    "a plugin's token": ({}, plugin({"token": "fresh"})),
    "a plugin's certificate": (
        {},
        plugin({
            "clientCertificateData": _RED.certificate.decode(),
            "clientKeyData": _RED.key.decode(),
        }),
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "")
    Path("pki").mkdir()
    Path("pki/token").write_text("from-a-file")
    Path("pki/ca.crt").write_bytes(_CA)
    _RED.write(Path("pki"), "red")


@pytest.mark.parametrize("form", ["yaml", "json"])
@pytest.mark.parametrize("name", CORPUS)
def test_both_read_the_same(name: str, form: str) -> None:
    document = config(*CORPUS[name])
    Path("config").write_text(json.dumps(document) if form == "json" else yaml.safe_dump(document))
    assert ours("config", None) == theirs("config", None)
    assert ours("config", "other") == theirs("config", "other")


def test_both_merge_the_same() -> None:
    Path("elsewhere").mkdir()
    Path("elsewhere/one").write_text(yaml.safe_dump({"current-context": "other", "clusters": [], "users": []}))
    Path("two").write_text(yaml.safe_dump(config(*CORPUS["a certificate in files"])))
    third = config({"server": "https://never"}, {"token": "never"}) | {"current-context": "never"}
    Path("three").write_text(yaml.safe_dump(third))
    files = os.pathsep.join(["elsewhere/one", "two", "three"])
    for context in ("main", "other"):
        assert ours(files, context) == theirs(files, context)
    # Of several current contexts kubectl takes the first; the client for Python the last.
    assert ours(files, None) == ours(files, "other")


@pytest.mark.parametrize(
    ("user", "we", "they"),
    [
        # Renewed in a file, it goes before the one that it was renewed from.
        ({"token": "old", "tokenFile": "pki/token"}, "Bearer from-a-file", "Bearer old"),
        # Whoever writes a file with an editor ends its last line.
        ({"tokenFile": "pki/line"}, "Bearer from-a-line", "Bearer from-a-line\n"),
        # UTF-8, as everything in Go.
        ({"username": "u", "password": "ü"}, "Basic dTrDvA==", "Basic dTr8"),
    ],
)
def test_where_they_differ_we_do_as_kubectl(user: dict[str, Any], we: str, they: str) -> None:
    Path("pki/line").write_text("from-a-line\n")
    Path("config").write_text(yaml.safe_dump(config(user=user)))
    assert (ours("config", None).authorization, theirs("config", None).authorization) == (we, they)
