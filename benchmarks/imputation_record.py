"""The record of the imputation benchmark: kept after every result, so that an interrupted run goes on."""

import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nadek.experiments import provenance
from nadek.files import replacing

Result = dict[str, Any]


class Record:
    """Results so far, in memory and, where a path is given, on disk.

    Args:
        path: the file; None keeps nothing.
        setup: what all results have in common; a file with another one is not gone on with.
    """

    def __init__(self, path: Path | None, setup: dict[str, Any]) -> None:
        self.path, self.setup = path, setup
        self.results: list[Result] = []
        if path is not None and path.is_file():
            before = json.loads(path.read_text())
            if before["setup"] != setup:
                raise ValueError(f"{path.name} is of another run, {before['setup']}; now {setup}: move it away")
            self.results = [result for result in before["results"] if "error" not in result]

    def lacks(self, **what: Any) -> bool:  # noqa: ANN401 - set, fraction, method
        """Whether there is no such result yet."""
        return not any(all(result[key] == value for key, value in what.items()) for result in self.results)

    def add(self, result: Result) -> None:
        """One more result, on disk at once."""
        self.results.append(result)
        if self.path is not None:
            self.path.parent.mkdir(exist_ok=True)
            with replacing(self.path) as stream:
                stream.write(self._text().encode())

    def _text(self) -> str:
        """JSON with a line a result, so that a new run makes a readable difference."""
        date = datetime.now(UTC).isoformat(timespec="seconds")
        head = json.dumps({"date": date, "setup": self.setup, **provenance()}, indent=2)
        lines = ",\n".join(f"    {json.dumps(_rounded(result))}" for result in self.results)
        return f'{head[:-2]},\n  "results": [\n{lines}\n  ]\n}}\n'


def versions(libraries: Sequence[str], python: str | None) -> dict[str, str]:
    """Versions of distributions, from this environment or the other one; those that neither has are left out."""
    ask = (
        "import json, sys; from importlib import metadata as m; all = {d.name.lower(): d.version for d in"
        " m.distributions()}; print(json.dumps({n: all[n.lower()] for n in sys.argv[1:] if n.lower() in all}))"
    )
    found: dict[str, str] = {}
    for interpreter in (python, sys.executable):  # where both have it, this one is used
        if interpreter is not None:
            told = subprocess.run([interpreter, "-c", ask, *libraries], capture_output=True, text=True, check=True)
            found |= json.loads(told.stdout)
    return dict(sorted(found.items()))


def _rounded(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Numbers to six digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
