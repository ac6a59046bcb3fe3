"""Record of the imputation benchmark, written after every result.

An interrupted run goes on from it.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from nadek.runs.provenance import provenance
from nadek.utils.atomic import replacing

Result = dict[str, Any]


class Record:
    """Results so far, in memory and on disk.

    Args:
        path: the file; None for memory only.
        setup: what all results have in common; a file with another one is not gone on with.
        libraries: versions of the libraries in use; they are added to those of the file.
    """

    def __init__(self, path: Path | None, setup: dict[str, Any], libraries: dict[str, str]) -> None:
        self.path, self.setup, self.libraries = path, setup, libraries
        self.results: list[Result] = []
        if path is not None and path.is_file():
            before = json.loads(path.read_text(encoding="utf-8"))
            if before["setup"] != setup:
                raise ValueError(f"{path.name} is of another run, {before['setup']}; now {setup}: move it away")
            self.results, self.libraries = flat(before), before["libraries"] | libraries

    def lacks(self, **what: Any) -> bool:  # noqa: ANN401 - set, fraction, method
        """Return True if there is no such finished result."""
        done = (result for result in self.results if "error" not in result)
        return not any(all(result[key] == value for key, value in what.items()) for result in done)

    def forget(self, **what: Any) -> None:  # noqa: ANN401 - set, fraction, method
        """Remove such results."""
        self.results = [r for r in self.results if any(r[key] != value for key, value in what.items())]

    def add(self, result: Result) -> None:
        """Add or replace a result, and write the file."""
        self.forget(**{key: result[key] for key in ("set", "fraction", "method")})
        self.results.append(result)
        if self.path is not None:
            date = datetime.now(UTC).isoformat(timespec="seconds")
            head = {"date": date, "setup": self.setup, "libraries": self.libraries, **provenance()}
            content = {**head, **nested_results(self.results)}
            self.path.parent.mkdir(exist_ok=True)
            with replacing(self.path) as stream:
                stream.write((_lines(_rounded(content)) + "\n").encode())


def nested_results(results: Sequence[Result]) -> dict[str, Any]:
    """Return the results as the docs read them.

    Args:
        results: of any sets, fractions and methods.

    Returns:
        "results": for each set and per cent of hidden cells those of the methods, the smallest log-loss first;
        "log_loss": for each per cent rows of a method and its log-loss on every set, in the order of the mean of
        log-loss relative to the best; "failed": methods that did not run, with their errors.
    """
    nested: dict[str, dict[str, dict[str, Result]]] = {r["set"]: {} for r in results}
    for r in sorted((r for r in results if "error" not in r), key=lambda r: r["log_loss"]):
        nested[r["set"]].setdefault(f"{r['fraction']:.0%}"[:-1], {})[r["method"]] = r
    across = {percent: _across(nested, percent) for percent in sorted({p for by in nested.values() for p in by})}
    failed = {(r["set"], r["method"]): r for r in results if "error" in r}
    return {"results": nested, "log_loss": across, "failed": list(failed.values())}


def flat(content: dict[str, Any]) -> list[Result]:
    """Return the list of results that `nested_results` was given.

    Of a method that did not run, it has one result a set.
    """
    done = [r for by_percent in content["results"].values() for by in by_percent.values() for r in by.values()]
    return done + content["failed"]


def _across(nested: dict[str, dict[str, dict[str, Result]]], percent: str) -> list[Result]:
    """Return a row a method with a column a set."""
    rows: dict[str, Result] = {}
    relative: dict[str, list[float]] = {}
    for name, by_percent in nested.items():
        results = by_percent.get(percent, {})
        for method, r in results.items():
            rows.setdefault(method, {"method": method, "title": r["title"]})[name] = r["log_loss"]
            best = min(other["log_loss"] for other in results.values())
            relative.setdefault(method, []).append(r["log_loss"] / best)
    return sorted(rows.values(), key=lambda row: sum(relative[row["method"]]) / len(relative[row["method"]]))


def versions(libraries: Sequence[str]) -> dict[str, str]:
    """Return the versions of those distributions that are installed."""
    installed = {}
    for library in sorted(set(libraries)):
        with suppress(metadata.PackageNotFoundError):
            installed[library] = metadata.version(library)
    return installed


def _lines(value: Any, indent: str = "") -> str:  # noqa: ANN401 - JSON
    """Return JSON with one result a line, for readable differences."""
    whole = json.dumps(value)
    if isinstance(value, dict) and (len(whole) < 100 or ("log_loss" in value and "set" in value)):
        return whole
    if isinstance(value, dict):
        inner = [f"{indent}  {json.dumps(key)}: {_lines(item, indent + '  ')}" for key, item in value.items()]
        return "{\n" + ",\n".join(inner) + f"\n{indent}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"{indent}  {_lines(item, indent + '  ')}" for item in value) + f"\n{indent}]"
    return whole


def _rounded(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Round numbers to six digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
