"""Write the tables of Volcano's fields into docs/volcano.md: `.venv/bin/python tools/volcano_fields.py`."""

from pathlib import Path

from phalanx.dialects.volcano.fields import page

PAGE = Path(__file__).parents[1] / "docs" / "volcano.md"
BEGIN, END = "<!-- made by tools/volcano_fields.py -->\n", "<!-- end -->\n"


def filled(text: str) -> str:
    """Return the page with the tables as they are in the code."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{page()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
