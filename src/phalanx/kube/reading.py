"""A client that cannot write. Who only looks at a cluster has this one, so that no mistake of ours changes anything."""

from collections.abc import Mapping

from phalanx.kube.client import Client, Reply
from phalanx.kube.credentials import Access


class ReadingClient(Client):
    """Every request passes through here, and all but reads end here."""

    def __init__(self, access: Access, connections: int = 64) -> None:
        super().__init__(access, connections)
        #: When the server gave its last answer, by its own clock; None: no answer said so.
        self.answered_at: float | None = None

    async def _head(self, method: str, path: str, query: Mapping[str, str] | None) -> str:
        if method != "GET":
            raise AssertionError(f"{method} {path}: nothing is written here")
        return await super()._head(method, path, query)

    async def _ask(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None, kind: str, seconds: float
    ) -> Reply:
        reply = await super()._ask(method, path, query, body, kind, seconds)
        self.answered_at = reply.given_at or self.answered_at
        return reply
