"""Every mistake in a kubeconfig is one line that names the entry, the field, what was found and what is allowed."""

import base64
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from phalanx.kube.credentials import AccessError, load_access
from phalanx.kube.local.certificates import Authority

AUTHORITY = Authority()
RED, BLUE = AUTHORITY.client("red"), AUTHORITY.client("blue")

CONFIG = """
clusters: [{{name: prod, cluster: {{{cluster}}}}}]
users: [{{name: red, user: {{{user}}}}}]
contexts: [{{name: main, context: {{cluster: prod, user: red}}}}]
current-context: {current}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config").touch()


def text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def encrypted(key: bytes) -> bytes:
    form, pem = serialization.PrivateFormat.PKCS8, serialization.Encoding.PEM
    return load_pem_private_key(key, None).private_bytes(pem, form, serialization.BestAvailableEncryption(b"x"))


def complaint(kubeconfig: str = "config", context: str | None = None) -> str:
    with pytest.raises(AccessError) as error:
        load_access(kubeconfig, context)
    said = str(error.value)
    assert said.isprintable()
    return said.removeprefix("kubeconfig config: ")


def config(cluster: str = "server: https://a", user: str = "", current: str = "main") -> None:
    Path("config").write_text(CONFIG.format(cluster=cluster, user=user, current=current))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{a: [}", "line 1: not YAML: did not find expected node content (while parsing a flow node)"),
        ("a: \0", "line 1: not YAML: not text: control characters are not allowed"),
        ("[]", "Expected object, got array"),
        ("users: [{name: red, user: {token: 12345}}]", "users[0].user.token: Expected str | null, got int"),
        ("", "current-context is not set; name one with --context (there is none)"),
        ("contexts: [{name: main}]", "current-context is not set; name one with --context (main)"),
        (
            "{contexts: [{name: main, context: {cluster: prod}}], current-context: main}",
            "context 'main': cluster: 'prod': unknown cluster (none is allowed here)",
        ),
    ],
)
def test_a_file_that_is_no_kubeconfig_or_names_nothing(content: str, expected: str) -> None:
    Path("config").write_text(content)
    assert complaint() == expected


def test_a_name_that_nobody_has_comes_with_the_nearest_that_somebody_has() -> None:
    config(current="mian")
    assert complaint() == "current-context: 'mian': unknown context, did you mean main? (allowed: main)"
    assert complaint(context="man") == "--context: 'man': unknown context, did you mean main? (allowed: main)"
    assert complaint("gone") == "kubeconfig gone: No such file or directory"
    assert complaint(".") == "kubeconfig .: Is a directory"


URL = "allowed is a URL such as https://10.0.0.1:6443"
BOTH = f"server: https://a, certificate-authority-data: {text(AUTHORITY.pair.certificate)}"


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        ("", f"server: found None, {URL}"),
        ("server: 10.0.0.1:6443", f"server: found '10.0.0.1:6443', {URL}"),
        ("server: 'https://[::1'", f"server: found 'https://[::1', {URL}"),
        ("server: 'https://a:port'", f"server: found 'https://a:port', {URL}"),
        ("server: https://a, certificate-authority: gone.crt", "{here}/gone.crt: No such file or directory"),
        (
            "server: https://a, certificate-authority-data: ab!",
            "certificate-authority-data: found 3 characters that are no base64",
        ),
        (
            f"server: https://a, certificate-authority-data: {text(b'x')}",
            "certificate-authority: found no certificate in it, allowed is PEM",
        ),
        (
            f"{BOTH}, insecure-skip-tls-verify: true",
            "found insecure-skip-tls-verify and certificate-authority, allowed is one of them",
        ),
        (
            "server: https://a, proxy-url: 'socks5://u:secret@p'",
            "proxy-url: found a proxy of scheme 'socks5', allowed are http and https",
        ),
    ],
)
def test_a_cluster_that_cannot_be_reached(cluster: str, expected: str, tmp_path: Path) -> None:
    config(cluster=cluster)
    assert complaint() == f"cluster 'prod': {expected.replace('{here}', str(tmp_path))}"


def pair(certificate: bytes, key: bytes) -> str:
    return f"client-certificate-data: {text(certificate)}, client-key-data: {text(key)}"


V1 = "client.authentication.k8s.io/v1"


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        (
            f"client-certificate-data: {text(RED.certificate)}",
            "found one of client-certificate and client-key, allowed is both or none",
        ),
        (
            pair(RED.certificate, BLUE.key),
            "client-certificate and client-key: the key is of another certificate",
        ),
        (pair(b"x", b"x"), "client-certificate and client-key: found no PEM pair"),
        (
            pair(RED.certificate, encrypted(RED.key)),
            "client-key: found an encrypted key, allowed is one without a passphrase",
        ),
        ("username: u, token: t", "found username and token, allowed is one of them"),
        ("auth-provider: {name: gcp}", "auth-provider: clients dropped it long ago, allowed is exec"),
        ("as: admin", "as: a scheduler acts as itself, allowed are its own credentials"),
        (
            f"exec: {{command: c, apiVersion: {V1}alpha1}}",
            f"exec: apiVersion: found '{V1}alpha1', allowed are {V1}, {V1}beta1",
        ),
        (
            f"exec: {{command: c, apiVersion: {V1}, interactiveMode: Always}}",
            "exec: interactiveMode: found 'Always', a scheduler has nobody to ask",
        ),
    ],
)
def test_a_user_that_cannot_be_told(user: str, expected: str) -> None:
    config(user=user)
    assert complaint() == f"user 'red': {expected}"
