"""Fill the numbers of README, SECURITY and docs from their records.

In Markdown, `<!--=RECORD.KEY FORMAT-->...<!--.-->` holds the value at KEY of the record RECORD.json (in
paper/results or benchmarks/results), in Python's FORMAT; `table` as the format makes a Markdown table of rows
(name, mean, standard error), and `rows:name,other=.3f` one of dictionaries (a list or dictionary of them): a column for
each key, in its format; `lines` shows lines as a terminal does. Run without options to fill in, with --check to fail
where something differs.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (ROOT / "paper" / "results", ROOT / "benchmarks" / "results")
_SOURCE = r"(?P<record>[\w-]+)\.(?P<key>[\w.-]+) (?P<format>[\w.,:=%-]+)"
MARK = re.compile(rf"<!--={_SOURCE}-->(?P<shown>.*?)<!--\.-->", re.DOTALL)


def pages() -> list[Path]:
    """Return every page that holds numbers."""
    cards = sorted((ROOT / "src" / "nadek" / "pretrained").glob("*/README.md"))
    return [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md")), *cards]


def filled(text: str) -> str:
    """Return the page with every marked number from its record."""
    return MARK.sub(_fill, text)


def _fill(match: re.Match[str]) -> str:
    value = _look_up(match["record"], match["key"])
    shown = _shown(value, match["format"])
    return f"<!--={match['record']}.{match['key']} {match['format']}-->{shown}<!--.-->"


def _shown(value: Any, how: str) -> str:  # noqa: ANN401 - JSON
    if how == "table":
        return f"\n\n{_table(value)}\n\n"
    if how.startswith("rows:"):
        rows = list(value.values()) if isinstance(value, dict) else value
        return f"\n\n{_rows(rows, [column.partition('=') for column in how[5:].split(',')])}\n\n"
    if how == "lines":
        return "\n\n" + "\n".join(["```text", *value, "```"]) + "\n\n"
    return format(value, how)


def _look_up(record: str, key: str) -> Any:  # noqa: ANN401 - JSON
    for folder in FOLDERS:
        if (folder / f"{record}.json").is_file():
            value = json.loads((folder / f"{record}.json").read_text(encoding="utf-8"))
            for part in key.split("."):
                value = value[int(part)] if isinstance(value, list) else value[part]
            return value
    raise FileNotFoundError(f"no record {record}.json in {', '.join(str(f.relative_to(ROOT)) for f in FOLDERS)}")


def _table(rows: list[tuple[str, float, float]]) -> str:
    lines = [f"| {name} | {mean:.2f} | {error:.2f} |" for name, mean, error in rows]
    return "\n".join(["| model | test log-likelihood (nats) | standard error |", "| --- | ---: | ---: |", *lines])


def _rows(rows: list[dict[str, Any]], columns: list[tuple[str, str, str]]) -> str:
    """Return a table, with a dash for missing values."""
    head = [" | ".join(key.replace("_", " ") for key, _, _ in columns)]
    head += [" | ".join("---:" if how else "---" for _, _, how in columns)]
    cells = [["–" if row.get(key) is None else format(row[key], how) for key, _, how in columns] for row in rows]
    return "\n".join(f"| {line} |" for line in [*head, *(" | ".join(line) for line in cells)])


def main() -> int:
    """Fill in the numbers, or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; fail where a page differs")
    check = parser.parse_args().check
    texts = {page: page.read_text(encoding="utf-8") for page in pages()}
    stale = {page: text for page, before in texts.items() if (text := filled(before)) != before}
    for page, text in stale.items():
        if check:
            print(f"{page.relative_to(ROOT)}: numbers differ from the records; run python docs/numbers.py")
        else:
            page.write_text(text, encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: brought up to date")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
