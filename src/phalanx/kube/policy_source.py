"""Where the policy comes from, live: a file or a ConfigMap. A bad one is said so, and the old one stays."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from phalanx.engine.policy import Policy
from phalanx.kube.client import Client, Unanswered
from phalanx.kube.clock import stamp
from phalanx.policy.load import PolicyError, parse_policy

#: How often the source is looked at. A read, never a write.
PERIOD = 5.0
KEY = "policy.yaml"


@dataclass(frozen=True, slots=True)
class Source:
    """Returns the policy's text, or None when it cannot be had now."""

    name: str
    text: Callable[[], Awaitable[str | None]]
    #: What an Event about it regards; None for a file.
    regarding: dict[str, str] | None = None


def file_source(path: str) -> Source:
    """Return a policy file."""

    async def text() -> str | None:
        try:
            return await asyncio.to_thread(Path(path).read_text)
        except OSError:
            return None

    return Source(path, text)


def config_map_source(client: Client, namespace: str, name: str) -> Source:
    """Return the key `policy.yaml` of a ConfigMap."""

    async def text() -> str | None:
        try:
            reply = await client.request("GET", f"/api/v1/namespaces/{namespace}/configmaps/{name}")
        except Unanswered:
            return None
        if not reply.ok:
            return None
        found = (reply.json().get("data") or {}).get(KEY)
        return found if isinstance(found, str) else ""

    regarding = {"kind": "ConfigMap", "apiVersion": "v1", "namespace": namespace, "name": name}
    return Source(f"ConfigMap {namespace}/{name}", text, regarding)


class PolicyWatch:
    """Looks at the source now and then; tells what changed."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._use: Callable[[Policy], None] | None = None
        self._bad: Callable[[str], None] | None = None
        self._seen: str | None = None

    def on_change(self, use: Callable[[Policy], None], bad: Callable[[str], None]) -> None:
        """Say who takes a new policy, and who hears about a bad one."""
        self._use, self._bad = use, bad

    async def first(self) -> Policy:
        """Return the policy to start with. There is no old one to keep, so a bad one is refused."""
        text = await self._source.text()
        if text is None:
            raise PolicyError(f"{self._source.name}: cannot be read")
        self._seen = text
        return parse_policy(text, self._source.name)

    async def run(self) -> None:
        """Look for changes until cancelled."""
        while True:
            await asyncio.sleep(PERIOD)
            await self.look()

    async def look(self) -> None:
        """Look once."""
        text = await self._source.text()
        if text is None or text == self._seen:
            return
        self._seen = text
        try:
            policy = parse_policy(text, self._source.name)
        except PolicyError as mistake:
            if self._bad is not None:
                self._bad(str(mistake))
        else:
            if self._use is not None:
                self._use(policy)


def policy_condition(now: float, message: str, *, valid: bool) -> bytes:
    """Return the patch that says on our own pod whether the last policy that was read is in force."""
    condition = {
        "type": "phalanx.dev/PolicyValid", "status": "True" if valid else "False",
        "reason": "Loaded" if valid else "Refused", "message": message[:1024], "lastTransitionTime": stamp(now),
    }  # fmt: skip
    return msgspec.json.encode({"status": {"conditions": [condition]}})
