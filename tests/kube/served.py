"""What a running scheduler answers at its own port."""

import urllib.error
import urllib.request
from pathlib import Path


def served(log: Path, path: str) -> tuple[int, str]:
    """Return the status and the text of an answer; the port is in the log. Status 0: it does not listen yet."""
    words = [word for line in log.read_text().splitlines() for word in line.split() if word.startswith("port=")]
    if not words:
        return 0, ""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{words[0].removeprefix('port=')}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()
