"""Check words, line widths and sentences of the pages.

Words are counted on the whole page, code and tables included, without HTML comments (they hold the sources of the
numbers). A line is measured without them only where it holds such a number, and lines of tables and of generated blocks
are not measured. A sentence ends at a full stop, a question mark, the end of a paragraph or of a list item; inline code
counts as one word. Run without options; the exit code is 1 where a page breaks a rule.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 100
"""Characters in a line."""

MEAN, LONGEST = 20, 40
"""Words in a sentence, on average and at most."""

MOST_WORDS = {"README.md": 700, "docs/architecture.md": 1500}
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_NUMBER = re.compile(r"<!--=.*?-->")
_GENERATED = re.compile(
    r"<!-- generated: .*?<!-- /generated -->|<!--=[^>]*? (?:table|lines|rows:[^>]*)-->.*?<!--\.-->", re.DOTALL
)
_FENCED = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"*)]*\s+(?=[\"*(\[]*[A-Z0-9])")
_ITEM = re.compile(r" *(?:[-*]|\d+\.) +")


def pages() -> list[Path]:
    """Return every page that is written for people."""
    cards = sorted((ROOT / "src" / "nadek" / "pretrained").glob("*/README.md"))
    top = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    return [*top, *sorted((ROOT / "docs").rglob("*.md")), *cards]


def count_words(text: str) -> int:
    """Return the number of words, without HTML comments."""
    return len(_COMMENT.sub("", text).split())


def wide_lines(text: str) -> Iterator[str]:
    """Yield the lines of a page that are too wide."""
    for line in _GENERATED.sub("", text).splitlines():
        measured = _COMMENT.sub("", line) if _NUMBER.search(line) else line
        if len(measured) > WIDTH and not line.startswith("|"):
            yield line


def broken_paragraphs(text: str) -> Iterator[str]:
    """Yield the lines that begin with a number's comment.

    In Markdown such a line ends the paragraph.
    """
    for line in _GENERATED.sub("", text).splitlines():
        if line.lstrip().startswith("<!--="):
            yield line


def sentences(text: str) -> list[str]:
    """Return the sentences of paragraphs and list items.

    Headings, tables and code are left out.
    """
    text = _COMMENT.sub("", _FENCED.sub("", _GENERATED.sub("", text)))
    text = re.sub(r"`[^`]+`", "Code", text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    result: list[str] = []
    for paragraph in _paragraphs(text):
        result += [sentence for sentence in _SENTENCE_END.split(paragraph) if _length(sentence)]
    return result


def problems(page: Path) -> list[str]:
    """Return the faults of a page, one a line."""
    name = page.relative_to(ROOT).as_posix()
    return [f"{name}: {fault}" for fault in faults(name, page.read_text(encoding="utf-8"))]


def faults(name: str, text: str) -> list[str]:
    """Return the faults of a text.

    Args:
        name: of the page, relative to the repository; it says how many words the page may have.
        text: of the page.
    """
    lines = sentences(text)
    wrong = [f"more than {WIDTH} characters: {line}" for line in wide_lines(text)]
    wrong += [f"a line begins with a number's comment: {line}" for line in broken_paragraphs(text)]
    wrong += [f"{_length(line)} words in a sentence: {line}" for line in lines if _length(line) > LONGEST]
    mean = sum(map(_length, lines)) / max(len(lines), 1)
    if mean > MEAN:
        wrong.append(f"{mean:.1f} words in a sentence on average, at most {MEAN} are allowed")
    if count_words(text) > MOST_WORDS.get(name, sys.maxsize):
        wrong.append(f"{count_words(text)} words, at most {MOST_WORDS[name]} are allowed")
    return wrong


def _paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs and list items, each as one line."""
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        item = _ITEM.match(line)
        if item or not line.strip() or line.startswith(("#", "|")):
            if lines:
                yield " ".join(lines)
            lines = []
        code = line.startswith("    ") and not lines
        if line.strip() and not line.startswith(("#", "|")) and not code:
            lines.append(line[item.end() :] if item else line.strip())


def _length(sentence: str) -> int:
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


def main() -> int:
    """Print the problems of all pages."""
    wrong = [line for page in pages() for line in problems(page)]
    print("\n".join(wrong) or "no problem")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
