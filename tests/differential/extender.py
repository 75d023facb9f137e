"""An extender of kube-scheduler that looks on: it notes which nodes passed every filter, and lets nothing be bound.

Asked to filter, it refuses all nodes, so that the pod stays as it is and the whole answer is known after one attempt.
A pod with the label `watch: score` passes instead, is scored, and the bind, which is ours to make, fails.
"""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

SCORED = {"watch": "score"}


@dataclass
class Extender:
    """What was seen, by the pod's name. A `with` block long."""

    passed: dict[str, set[str]] = field(default_factory=dict)
    chosen: dict[str, str] = field(default_factory=dict)

    def __enter__(self) -> Self:
        extender = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = json.dumps(extender.answer(self.path, asked)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the library's name)
                del format, args

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, path: str, asked: dict[str, Any]) -> dict[str, Any]:
        """Answer one call."""
        if path == "/bind":
            self.chosen[f"{asked['PodNamespace']}/{asked['PodName']}"] = asked["Node"]
            return {"Error": "looked at, not bound"}
        metadata, names = asked["Pod"]["metadata"], asked["NodeNames"] or []
        seen = self.passed.setdefault(f"{metadata['namespace']}/{metadata['name']}", set())
        seen.update(names)
        if SCORED.items() <= (metadata.get("labels") or {}).items():
            return {"NodeNames": names, "FailedNodes": {}}
        return {"NodeNames": [], "FailedAndUnresolvableNodes": dict.fromkeys(names, "looked at, not bound")}
