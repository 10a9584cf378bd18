"""Counts turns of phrase that readers of this project had to read twice, in docstrings and pages.

Examples, references and code are left out. A turn is not an error by itself: the limits are above the present
rates, so that the text does not fall back.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("cmab", "oracles", "instances", "docs")
#: The pattern of each turn and the largest number of uses in 10,000 words.
TURNS = {
    "what, as a noun": (r"\bwhat(?:ever)?\b(?!')", 3.0),
    "who, nobody": (r"\b(?:who|whom|whose|nobody|somebody|whoever)\b", 6.0),
    "stands, lies, speaks": (r"\b(?:stands?|speaks?|lies)\b", 1.0),
    "for, as because": (r", for (?:it|they|the|a|an|then|there|no|nothing|each|all|that|this)\b", 1.0),
    "none, as a noun": (r"\bnone\b", 4.0),
}


def texts(folder: Path) -> Iterator[str]:
    """Yield the docstrings of the modules below a folder and the prose of its pages."""
    for path in sorted(folder.rglob("*.py")):
        if "auto_gallery" in path.parts:  # copies that the documentation makes of its gallery
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = re.split(r"\n(?:Examples?|References)\n-{3,}", ast.get_docstring(node) or "")[0]
                yield "\n".join(
                    line for line in text.splitlines() if not line.lstrip().startswith((">>>", "..."))
                )
    for path in sorted(folder.rglob("*.md")):
        if "changes" not in path.parts:
            text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
            yield re.sub(r"\]\([^)]*\)", "] ", text)


def rates(folder: Path) -> dict[str, float]:
    """Return how often each turn occurs in 10,000 words."""
    text = re.sub(r"``.*?``|`.*?`", " x ", "\n".join(texts(folder)), flags=re.S)
    n_words = max(len(re.findall(r"[A-Za-z']+", text)), 1)
    flags = {turn: 0 if turn.startswith("none") else re.I for turn in TURNS}
    return {
        turn: 1e4 * len(re.findall(pattern, text, flags[turn])) / n_words
        for turn, (pattern, _) in TURNS.items()
    }
