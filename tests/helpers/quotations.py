"""Where a quotation stands in the text of a paper: compared sign by sign, and under which section it is."""

from __future__ import annotations

import re
from functools import lru_cache

from repository import SHARED

PAPERS = {
    "Meehan2020": ("000_7d530c06ee6b5a08.txt",),
    "Meehan2021": ("003_1fb46dd0ab52e726.txt", "001_0db251ee19f01bd4.txt"),
    "Jiang2021": ("002_1df91251eaad9586.txt",),
    "Biswas2023": ("004_7fa79aed6a0a67d0.txt",),
}
_NAMES = (
    "alpha beta gamma delta epsilon varepsilon eta theta lambda mu pi sigma tau phi psi Delta Sigma Gamma Lambda Phi"
)
_SIGNS = dict(zip(_NAMES.split(), "αβγδεεηθλμπστφψΔΣΓΛΦ", strict=True)) | {
    "leq": "≤", "le": "≤", "geq": "≥", "neq": "≠", "in": "∈", "forall": "∀", "sum": "∑", "times": "×", "exp": "exp",
    "ln": "ln", "log": "log", "max": "max", "min": "min", "Pr": "Pr", "infty": "∞", "rightarrow": "→", "to": "→",
    "approx": "≈", "prime": "'", "mid": "|", "cdot": "·", "succ": "≻", "prec": "≺", "sim": "∼",
}  # fmt: skip
_LETTERS = {
    "mathbb{I}": "𝕀",
    "mathcal{X}": "𝒳",
    "mathcal{Y}": "𝒴",
    "mathcal{S}": "𝒮",
    "mathcal{K}": "𝒦",
    "mathcal{N}": "𝒩",
}


def _ratio(found: re.Match[str]) -> str:
    """A fraction on one line; a sum above it in parentheses."""
    above, below = found[1], found[2]
    return f"({above})/{below}" if re.search(r" [+-] ", above) else f"{above}/{below}"


def signs(text: str) -> str:
    """The text without layout: LaTeX as the signs it means, no spaces, braces, emphasis or underscores."""
    for macro, letter in _LETTERS.items():
        text = text.replace(f"\\{macro}", letter)
    text = re.sub(r"\\frac\{((?:[^{}]|\{[^{}]*\})*)\}\{((?:[^{}]|\{[^{}]*\})*)\}", _ratio, text)
    text = re.sub(r"\\hat\{C\}", "Ĉ", text)
    text = re.sub(r"\\bar\{(?:\\mathbf\{)?x\}*", "x̄", text)
    text = re.sub(r"\\\|", "‖", text).replace("||", "‖")
    text = re.sub(r"\\([A-Za-z]+)", lambda found: _SIGNS.get(found[1], ""), text)
    text = text.replace("−", "-").replace("–", "-").replace("’", "'").replace("′", "'")
    return re.sub(r"[\s{}$*_\\]|\((?=\))", "", text)


def _order(section: str) -> tuple[tuple[bool, int], ...]:
    """What sections are ordered by: numbers, then letters."""
    return tuple((part.isalpha(), ord(part) if part.isalpha() else int(part)) for part in section.split(".") if part)


@lru_cache(maxsize=8)
def paper(name: str) -> tuple[tuple[str, str], ...]:
    """(section, the signs of its own text) of a paper's file, in order; the section "" stands before the first."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in (SHARED / "papers" / name).read_text(encoding="utf-8").splitlines():
        head = re.match(r"(#+)?[ *]*(APPENDIX )?([A-Z]|\d{1,2})((?:\.\d)*)\.?[ *]+(?=[A-Z])", line)
        alone = re.match(r"(?:#+ )?(?:APPENDIX ([A-Z])\s*$|([A-Z]) PROOFS$)", line)
        if alone or (head and len(line) < 120 and (head[1] or head[2] or head[4] or head[3].isdigit())):
            name_of = (alone[1] or alone[2]) if alone else head[3] + head[4]
            if _order(name_of) > _order(found[-1][0]):  # sections follow one another: other numbered lines do not
                found.append((name_of, []))
        found[-1][1].append(line)
    return tuple((section, signs("\n".join(lines))) for section, lines in found)


def sections_with(quote: str, key: str) -> list[str]:
    """The sections of a paper that hold a quotation."""
    want = signs(quote)
    return [section for name in PAPERS[key] for section, text in paper(name) if want in text]
