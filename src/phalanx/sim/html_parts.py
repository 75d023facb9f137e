"""What every page of a report is made of."""

from collections.abc import Sequence
from html import escape

from phalanx.sim.html_style import STYLE


def page(title: str, subtitle: str, body: str) -> str:
    """Return a whole page; title and subtitle are escaped here, the body is HTML."""
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}: simulated by Phalanx</title><style>{STYLE}</style></head><body>
<h1>{escape(title)}</h1>
<p>{escape(subtitle)}</p>
{body}</body></html>
"""


def table_html(head: Sequence[str], rows: Sequence[Sequence[str]], names: int = 1) -> str:
    """Return a table that scrolls by itself where the screen is narrow; its first one or two columns are names."""
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="wide"><table class="names{names}">{table}</table></div>'


def counted(number: int, noun: str) -> str:
    """Return `1 pod`, `2 pods`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
