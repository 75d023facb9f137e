"""Who we are to which cluster: kubeconfigs as people have them, exec plugins, pods; and every mistake as one line."""

import asyncio
import base64
import json
import os
import ssl
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from phalanx.kube import credentials
from phalanx.kube.client import Client, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.credentials import Access, AccessError, load_access
from phalanx.kube.local.certificates import Authority
from phalanx.testing.control_plane import ControlPlane

AUTHORITY, OTHER = Authority(), Authority()
RED, BLUE = AUTHORITY.client("red"), AUTHORITY.client("blue")
CA = AUTHORITY.pair.certificate

#: Prints an ExecCredential with what is in `answer.json`, and counts how often it was asked.
PLUGIN = """
import json, os, sys
with open("asked", "a") as file:
    file.write(os.environ["KUBERNETES_EXEC_INFO"] + "\\n")
version = json.loads(os.environ["KUBERNETES_EXEC_INFO"])["apiVersion"]
status = json.load(open("answer.json"))
print(json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status}))
"""


class Hands(Clock):
    """A clock that the test turns."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def now(self) -> float:
        return 1_800_000_000.0 + self.seconds

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture(autouse=True)
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hands:
    """Nothing of this machine's own clusters, and a clock of ours."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    hands = Hands()
    monkeypatch.setattr(credentials, "_CLOCK", hands)
    return hands


def text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def config(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> dict[str, Any]:
    where = {"server": "https://10.0.0.1:6443", "certificate-authority-data": text(CA)} if cluster is None else cluster
    return {
        "clusters": [{"name": "prod", "cluster": where}],
        "users": [{"name": "red", "user": user or {}}],
        "contexts": [{"name": "main", "context": {"cluster": "prod", "user": "red"}}],
        "current-context": "main",
    }


def write(document: Any, name: str = "config") -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return name


def load(user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None) -> Access:
    return load_access(write(config(cluster, user)), None)


def header(access: Access) -> str | None:
    return asyncio.run(access.authorization())


def exec_user(**more: Any) -> dict[str, Any]:
    Path("plugin.py").write_text(PLUGIN)
    spec = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["plugin.py"],
        "env": None,
    }
    return {"exec": spec | {"interactiveMode": "Never"} | more}


def asked() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("asked").read_text().splitlines()]


def test_a_kubeconfig_gives_server_trust_and_header() -> None:
    access = load({"token": "abc"}, {"server": "https://api/k8s/clusters/c-1/", "tls-server-name": "kubernetes"})
    assert (access.server, access.tls_server_name, access.proxy) == ("https://api/k8s/clusters/c-1", "kubernetes", None)
    assert header(access) == "Bearer abc"
    assert (access.ssl().verify_mode, access.ssl().check_hostname) == (ssl.CERT_REQUIRED, True)


def test_of_several_files_the_first_to_name_a_thing_wins_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    write({"users": [{"name": "red", "user": {"token": "first"}}], "clusters": None, "current-context": ""}, "a")
    write(config(user={"token": "second", "username": "never-mixed-in", "password": "x"}), "b")
    write(config(cluster={"server": "https://third"}) | {"current-context": "third"}, "c")
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(["a", "absent", "", "b", "c"]))
    access = load_access(None, None)
    assert (access.server, header(access)) == ("https://10.0.0.1:6443", "Bearer first")


def test_the_file_at_home_is_used_when_nothing_else_is_named() -> None:
    write(config(user={"username": "u", "password": "p"}), "home/.kube/config")
    assert header(load_access(None, "main")) == "Basic " + text(b"u:p")


def test_commands_that_name_no_namespace_mean_that_of_the_context() -> None:
    asked = config()
    write(json.dumps(asked), "kubeconfig")
    assert load_access("kubeconfig", None).namespace == "default"
    asked["contexts"][0]["context"]["namespace"] = "ml"
    write(json.dumps(asked), "kubeconfig")
    assert load_access("kubeconfig", None).namespace == "ml"


def test_paths_are_relative_to_the_file_that_they_stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cluster = {"server": "https://api", "certificate-authority": "pki/ca.crt"}
    user = {"client-certificate": "pki/red.crt", "client-key": "pki/red.key", "tokenFile": "pki/token"}
    write(config(cluster, user), "there/config")
    Path("there/pki").mkdir()
    Path("there/pki/ca.crt").write_bytes(CA)
    Path("there/pki/token").write_text("from-file\n")
    RED.write(Path("there/pki"), "red")
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    access = load_access(str(tmp_path / "there/config"), None)
    assert header(access) == "Bearer from-file"
    assert len(access.ssl().get_ca_certs()) == 1


@pytest.mark.parametrize("memory_files", [True, False])
def test_a_key_given_as_data_is_not_left_on_any_disk(memory_files: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not memory_files:
        monkeypatch.delattr(os, "memfd_create")
    Path("scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", "scratch")
    load({"client-certificate-data": text(RED.certificate), "client-key-data": text(RED.key)})
    assert list(Path("scratch").iterdir()) == []


def test_base64_may_be_broken_into_lines() -> None:
    lines = base64.encodebytes(CA).decode()
    assert len(load(cluster={"server": "https://api", "certificate-authority-data": lines}).ssl().get_ca_certs()) == 1


def test_verification_is_off_only_when_asked_for() -> None:
    context = load(cluster={"server": "https://api", "insecure-skip-tls-verify": True}).ssl()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)


def test_a_token_file_is_read_again_after_a_minute_or_a_401(clock: Hands) -> None:
    write("one", "token")
    access = load({"tokenFile": "token"})
    assert header(access) == "Bearer one"
    write("two", "token")
    clock.seconds += 59
    assert header(access) == "Bearer one"
    clock.seconds += 1
    assert header(access) == "Bearer two"
    write("three", "token")
    asyncio.run(access.refresh())
    assert header(access) == "Bearer three"
    Path("token").unlink()
    clock.seconds += 60
    assert header(access) == "Bearer three"


def test_renewed_certificate_files_make_a_new_context_and_a_half_written_pair_does_not(clock: Hands) -> None:
    RED.write(Path(), "client")
    access = load({"client-certificate": "client.crt", "client-key": "client.key"})
    first = access.ssl()
    Path("client.crt").write_bytes(BLUE.certificate)
    clock.seconds += 60
    assert access.ssl() is first
    Path("client.key").write_bytes(BLUE.key)
    clock.seconds += 60
    assert access.ssl() is not first
    assert access.ssl() is access.ssl()


def test_an_exec_plugin_is_asked_once_by_many_and_again_when_its_token_runs_out(clock: Hands) -> None:
    access = load(exec_user())
    write(json.dumps({"token": "one", "expirationTimestamp": "2027-01-15T08:20:00Z"}), "answer.json")
    clock.seconds = 1_000.0  # 08:16:40

    async def many() -> list[str | None]:
        return await asyncio.gather(*(access.authorization() for _ in range(20)))

    assert asyncio.run(many()) == ["Bearer one"] * 20
    assert len(asked()) == 1
    write(json.dumps({"token": "two"}), "answer.json")
    clock.seconds = 1_189.0
    assert header(access) == "Bearer one"
    clock.seconds = 1_190.0
    assert header(access) == "Bearer two"
    clock.seconds += 1e6
    assert header(access) == "Bearer two"
    assert len(asked()) == 2


def test_many_401s_together_ask_the_plugin_once(clock: Hands) -> None:
    access = load(exec_user())
    write('{"token": "one"}', "answer.json")
    assert header(access) == "Bearer one"
    write('{"token": "two"}', "answer.json")
    clock.seconds += 10

    async def many() -> None:
        await asyncio.gather(*(access.refresh() for _ in range(20)))

    asyncio.run(many())
    assert (header(access), len(asked())) == ("Bearer two", 2)


def test_a_plugin_may_give_a_certificate_and_a_new_one_makes_a_new_context(clock: Hands) -> None:
    access = load(exec_user())
    before = access.ssl()
    contexts = [before]
    for pair in (RED, RED, BLUE):
        given = {"clientCertificateData": pair.certificate.decode(), "clientKeyData": pair.key.decode()}
        write(json.dumps(given), "answer.json")
        clock.seconds += 10
        asyncio.run(access.refresh())
        contexts.append(access.ssl())
    assert [contexts.index(context) for context in contexts] == [0, 1, 1, 3]
    assert header(access) is None


def test_a_plugin_is_told_about_the_cluster_when_it_is_to_know() -> None:
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    cluster = {"server": "https://api", "certificate-authority-data": text(CA), "extensions": [extension]}
    write('{"token": "t"}', "answer.json")
    for more in ({"provideClusterInfo": True, "apiVersion": "client.authentication.k8s.io/v1beta1"}, {}):
        assert header(load(exec_user(**more), cluster)) == "Bearer t"
    told = {"server": "https://api", "certificate-authority-data": text(CA), "config": {"audience": "a"}}
    assert asked() == [
        {
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "kind": "ExecCredential",
            "spec": {"interactive": False, "cluster": told},
        },
        {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "spec": {"interactive": False}},
    ]


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        (
            "import sys; print('first', file=sys.stderr); sys.exit('login expired')",
            "ended with status 1: login expired",
        ),
        ("print('hello')", "its answer is no ExecCredential: JSON is malformed: invalid character (byte 0)"),
        ("print('{}')", "its answer is no ExecCredential: Object missing required field apiVersion"),
        (
            """print('{"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential"}')""",
            "allowed is ExecCredential client.authentication.k8s.io/v1",
        ),
        (
            """print('{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {}}')""",
            "its answer has neither status.token nor status.clientCertificateData",
        ),
    ],
)
def test_a_plugin_that_fails_is_named_with_its_last_words(script: str, complaint: str) -> None:
    access = load(exec_user(args=["-c", script]))
    with pytest.raises(AccessError) as error:
        header(access)
    assert str(error.value).startswith(f"kubeconfig config: user 'red': exec: {sys.executable}")
    assert str(error.value).endswith(complaint)
    assert str(error.value).isprintable()


def test_a_plugin_that_is_not_installed_comes_with_its_hint() -> None:
    access = load(exec_user(command="no-such-cloud", installHint="Install it:\n  cloud.example"))
    with pytest.raises(AccessError) as error:
        header(access)
    assert str(error.value) == (
        "kubeconfig config: user 'red': exec: command: no-such-cloud: No such file or directory"
        " (Install it: cloud.example)"
    )


def test_in_a_pod_the_mounted_token_and_authority_are_used_and_their_renewal_seen(
    clock: Hands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(credentials, "SERVICE_ACCOUNT", tmp_path / "mounted")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(AccessError, match=r"service account: .*/mounted/ca.crt: No such file or directory"):
        load_access(None, None)
    write("one", "mounted/token")
    write(CA.decode(), "mounted/ca.crt")
    write("team-a", "mounted/namespace")
    access = load_access(None, None)
    assert access.namespace == "team-a"
    first = access.ssl()
    assert (access.server, header(access)) == ("https://[fd00::1]:443", "Bearer one")
    write("two", "mounted/token")
    write(OTHER.pair.certificate.decode(), "mounted/ca.crt")
    clock.seconds += 60
    assert header(access) == "Bearer two"
    assert access.ssl() is not first


def test_a_pod_whose_user_has_no_home_is_still_in_its_pod(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(credentials, "SERVICE_ACCOUNT", tmp_path / "mounted")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    write("one", "mounted/token")
    write(CA.decode(), "mounted/ca.crt")
    assert load_access(None, None).server == "https://10.0.0.1:443"


def test_no_cluster_at_all_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(AccessError) as error:
        load_access(None, None)
    assert str(error.value) == (
        f"no cluster: found no kubeconfig ({tmp_path}/home/.kube/config) and no pod around us;"
        " name a file with --kubeconfig"
    )


def test_a_proxy_comes_from_the_cluster_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    named = {"server": "https://10.1.2.3", "proxy-url": "http://named:3128"}
    monkeypatch.setenv("HTTPS_PROXY", "around:3128")
    proxies = {}
    for excepted in ("", "10.0.0.0/8", ".example.com, api.example.com", "example.com:443"):
        monkeypatch.setenv("NO_PROXY", excepted)
        hosts = ("10.1.2.3", "api.example.com", "example.org", "127.0.0.1:6443")
        proxies[excepted] = [load(cluster={"server": f"https://{host}"}).proxy for host in hosts]
        assert load(cluster=named).proxy == "http://named:3128"
    around = "http://around:3128"
    assert proxies == {
        "": [around, around, around, None],
        "10.0.0.0/8": [None, around, around, None],
        ".example.com, api.example.com": [around, None, around, None],
        "example.com:443": [around, None, around, None],
    }


def who_am_i(access: Access) -> list[str]:
    """Ask the API server twice for whom it takes us."""
    body = b'{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}'

    async def ask() -> list[str]:
        await access.authorization()
        async with Client(access) as client:
            replies = [
                await client.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=body)
                for _ in range(2)
            ]
        return [reply.json()["status"]["userInfo"]["username"] for reply in replies]

    return asyncio.run(ask())


def test_a_real_api_server_takes_us_for_whom_we_are(control_plane: ControlPlane) -> None:
    given = yaml.safe_load(control_plane.user("carol").read_text())
    cluster = given["clusters"][0]["cluster"]
    certificate, key = (
        base64.b64decode(given["users"][0]["user"][f"client-{part}-data"]) for part in ("certificate", "key")
    )
    assert x509.load_pem_x509_certificate(certificate)
    assert who_am_i(load_access(str(control_plane.user("carol")), "local")) == ["carol"] * 2

    answer = {"clientCertificateData": certificate.decode(), "clientKeyData": key.decode()}
    write(json.dumps(answer), "answer.json")
    assert who_am_i(load(exec_user(), cluster)) == ["carol"] * 2

    control_plane.kubectl("create", "serviceaccount", "teller", "-n", "default")
    write("stale", "token")
    access = load({"tokenFile": "token"}, cluster)
    assert header(access) == "Bearer stale"
    write(control_plane.kubectl("create", "token", "teller", "-n", "default"), "token")
    assert who_am_i(access) == ["system:serviceaccount:default:teller"] * 2


def test_a_server_of_another_authority_is_not_believed(control_plane: ControlPlane) -> None:
    cluster = {"server": control_plane.url, "certificate-authority-data": text(OTHER.pair.certificate)}
    with pytest.raises(Unanswered, match="certificate verify failed"):
        who_am_i(load({"token": "t"}, cluster))
