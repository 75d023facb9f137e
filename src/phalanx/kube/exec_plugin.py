"""Exec plugins: a program of the cloud's that hands out a token or a certificate, asked again when they run out.

The protocol is client.authentication.k8s.io/v1 and v1beta1, which differ in nothing that is used here.
"""

import asyncio
import base64
import os
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from phalanx.kube.clock import Clock
from phalanx.kube.kubeconfig import AccessError, Cluster, Exec
from phalanx.kube.tls import Pair

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")

#: A plugin that hangs, on a browser that nobody sees or a dead network, must not hang the scheduler.
TIMEOUT = 60.0
#: A credential this young is not asked for again: of many requests that are refused together, one asks the plugin.
FRESH = 5.0
#: New ones are fetched a little before the old ones run out, so that no request travels with an expired one.
EARLY = 10.0


@dataclass(frozen=True, slots=True)
class Credential:
    """What a request carries: a header, a client certificate, both or neither."""

    authorization: str | None = None
    pair: Pair | None = None


class _Status(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _Answer(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    status: _Status | None = None


class ExecPlugin:
    """Runs the program when a credential is needed and none is good, once for all who wait."""

    def __init__(self, name: str, spec: Exec, cluster: Cluster, authority: bytes | None, clock: Clock) -> None:
        if spec.api_version not in VERSIONS:
            raise AccessError(f"{name}: apiVersion: found {spec.api_version!r}, allowed are {', '.join(VERSIONS)}")
        if spec.interactive_mode == "Always":
            raise AccessError(f"{name}: interactiveMode: found 'Always', a scheduler has nobody to ask")
        self._name = name
        self._spec = spec
        self._question = _question(spec, cluster, authority)
        self._clock = clock
        self._turn = asyncio.Lock()
        self._credential: Credential | None = None
        self._fetched_at = 0.0
        self._due_at: float | None = None

    async def current(self) -> Credential:
        """Return a credential that is still good."""
        async with self._turn:
            if self._credential is None or (self._due_at is not None and self._clock.monotonic() >= self._due_at):
                self._credential = await self._fetch()
            return self._credential

    def forget(self) -> None:
        """Ask the program again next time: the server refused what it gave."""
        if self._clock.monotonic() - self._fetched_at >= FRESH:
            self._credential = None

    async def _fetch(self) -> Credential:
        answer = self._checked(await self._run())
        self._fetched_at = self._clock.monotonic()
        self._due_at = None
        if answer.expiration_timestamp is not None:
            left = answer.expiration_timestamp.timestamp() - self._clock.now()
            self._due_at = self._fetched_at + max(left - EARLY, left / 2, FRESH)
        pair = None
        if answer.client_certificate_data and answer.client_key_data:
            certificate, key = answer.client_certificate_data, answer.client_key_data
            pair = Pair(self._name, certificate.encode(), key.encode())
        return Credential(f"Bearer {answer.token}" if answer.token else None, pair)

    async def _run(self) -> bytes:
        variables = {variable.name: variable.value for variable in self._spec.env or ()}
        try:
            process = await asyncio.create_subprocess_exec(
                self._spec.command,
                *(self._spec.args or ()),
                env=os.environ | variables | {"KUBERNETES_EXEC_INFO": self._question},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f" ({' '.join(self._spec.install_hint.split())})" if self._spec.install_hint else ""
            raise AccessError(f"{self._name}: command: {self._spec.command}: {error.strerror}{hint}") from None
        try:
            output, complaint = await asyncio.wait_for(process.communicate(), TIMEOUT)
        except TimeoutError:
            raise AccessError(f"{self._name}: {self._spec.command} gave no answer in {TIMEOUT:.0f} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            said = complaint.decode("utf-8", "replace").strip().splitlines()
            last = f": {said[-1].strip()}" if said else ""
            raise AccessError(f"{self._name}: {self._spec.command} ended with status {process.returncode}{last}")
        return output

    def _checked(self, output: bytes) -> _Status:
        where = f"{self._name}: {self._spec.command}: its answer"
        try:
            answer = msgspec.json.decode(output, type=_Answer)
        except msgspec.DecodeError as error:
            # Not what it printed: that may be a credential.
            raise AccessError(f"{where} is no ExecCredential: {str(error).replace('`', '')}") from None
        if (answer.api_version, answer.kind) != (self._spec.api_version, "ExecCredential"):
            raise AccessError(
                f"{where} is {answer.kind} {answer.api_version}, allowed is ExecCredential {self._spec.api_version}"
            )
        status = answer.status or _Status()
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise AccessError(f"{where} has one of clientCertificateData and clientKeyData, allowed is both or none")
        if not status.token and not status.client_certificate_data:
            raise AccessError(f"{where} has neither status.token nor status.clientCertificateData")
        return status


def _question(spec: Exec, cluster: Cluster, authority: bytes | None) -> str:
    """Return what the program may know: that nobody sits at a terminal, and the cluster if it is to be told."""
    told: dict[str, Any] = {"interactive": False}
    if spec.provide_cluster_info:
        config = [entry.extension for entry in cluster.extensions or () if entry.name == f"{GROUP}/exec"]
        facts = {
            "server": cluster.server,
            "tls-server-name": cluster.tls_server_name,
            "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
            "certificate-authority-data": base64.b64encode(authority).decode() if authority else None,
            "proxy-url": cluster.proxy_url,
            "config": config[0] if config else None,
        }
        told["cluster"] = {key: value for key, value in facts.items() if value is not None}
    document = {"apiVersion": spec.api_version, "kind": "ExecCredential", "spec": told}
    return msgspec.json.encode(document).decode()
