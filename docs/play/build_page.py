"""Build the page to play on as a static site, in the folder that is named: `make play`.

The networks are exported here, and onnxruntime-web comes from npm; both lie beside the folder in play-parts, and are
not kept in the repository. Where npm or the packages of the extra ``onnx`` are missing, nothing is built, and the
reason is printed.
"""

import base64
import gzip
import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import nadek
from nadek.checkpoints import SavedModel, load_saved
from nadek.sharing.export import describe, export_onnx
from nadek.sharing.server import PAGE

RUNTIME = "onnxruntime-web@1.30.0"
MODULE, WASM = "ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"
AGES, PLACES = ("18 to 29", "30 to 49", "50 and over"), ("city", "town", "village")
INVENTED = "These people are invented, and so are their habits. Choose an answer: all other probabilities follow."


def why_not(work: Path) -> str | None:
    """Fetch the runtime; return the reason why the page cannot be built here."""
    if find_spec("onnxscript") is None:
        return "onnxscript is missing: pip install 'nade-k[onnx]'"
    if (npm := shutil.which("npm")) is None:
        return "npm is missing"
    options = ["--silent", "--prefer-offline", "--no-audit", "--no-fund", "--prefix", str(work)]
    return "npm cannot fetch the runtime" if subprocess.run([npm, "install", *options, RUNTIME]).returncode else None


def invented_people(n: int) -> pd.DataFrame:
    """Return answers of people who do not exist, with habits that depend on each other."""
    rng = np.random.default_rng(0)
    age, place = rng.choice(3, n, p=(0.3, 0.4, 0.3)), rng.choice(3, n, p=(0.4, 0.35, 0.25))

    def yes(p: np.ndarray) -> np.ndarray:
        return rng.random(n) < p

    children = yes(np.array((0.12, 0.62, 0.25))[age])
    car = yes(np.clip(np.array((0.25, 0.65, 0.92))[place] + 0.15 * children, 0, 1))
    to_work = np.where(
        car & yes(0.2 + 0.3 * place), "by car", np.where(yes(0.75 - 0.25 * place), "by train", "on foot")
    )
    at_home = yes(np.array((0.35, 0.45, 0.15))[age] * (1 - 0.2 * place))
    to_work = np.where(at_home, "not at all", to_work)
    smokes = yes(np.array((0.35, 0.22, 0.18))[age])
    coughs = yes(np.where(smokes, 0.55, 0.08))
    pet = np.select([yes(0.1 + 0.2 * place + 0.1 * children), yes(0.25 + 0.0 * age)], ["dog", "cat"], "none")
    sleep = np.clip(2 - children - smokes * yes(0.6 + 0.0 * age) + (age == 2) - yes(0.4 + 0.0 * age), 0, 2)
    words = {True: "yes", False: "no"}
    return pd.DataFrame(
        {
            "Age": np.array(AGES)[age],
            "Lives in a": np.array(PLACES)[place],
            "Has children": pd.Series(children).map(words),
            "Has a car": pd.Series(car).map(words),
            "Goes to work": to_work,
            "Pet": pet,
            "Smokes": pd.Series(smokes).map(words),
            "Coughs": pd.Series(coughs).map(words),
            "Sleeps": np.array(("badly", "so-so", "well"))[sleep],
        }
    )


def survey_model(folder: Path) -> SavedModel:
    """Train a small model of invented people, in seconds."""
    options = {"width": 64, "steps": 3}
    nadek.NADEk(max_iter=20, training=options, random_state=0).fit(invented_people(3000)).save(folder)
    return load_saved(folder)


def digits_model() -> tuple[SavedModel, torch.Tensor]:
    """Return the paper's network, and the upper half of a digit that it drew."""
    saved = load_saved("mnist-nade5-2hl")
    drawn = nadek.sample(saved.model, 1, orderings=1, generator=torch.Generator().manual_seed(2))
    return saved, drawn[0].float().index_fill(0, torch.arange(len(drawn[0]) // 2, len(drawn[0])), torch.nan)


@torch.no_grad()
def beginning(saved: SavedModel, row: torch.Tensor) -> dict[str, object]:
    """Return the first question, null where missing, and its answer, which comes before the engine does."""
    logits = torch.stack(saved.model.float()(row[None], row[None].isnan())).numpy()
    codes = [None if code != code else code for code in row.tolist()]
    return {"opening": codes, "answer": base64.b64encode(logits.astype("<f4").tobytes()).decode()}


def compress(source: Path, target: Path) -> int:
    """Write a file compressed, always alike; return its size."""
    target.write_bytes(gzip.compress(source.read_bytes(), 9, mtime=0))
    return target.stat().st_size


def build(folder: Path, work: Path) -> dict[str, int]:
    """Write the page; return the bytes that a visitor of each model loads."""
    shutil.copytree(PAGE, folder, dirs_exist_ok=True)
    dist = work / "node_modules" / "onnxruntime-web" / "dist"
    shutil.copy(dist / MODULE, folder / "runtime.mjs")
    runtime = compress(dist / WASM, folder / "runtime.wasm.gz")
    digits, half = digits_model()
    people = survey_model(work / "people")
    nobody = torch.full((people.model.n_variables,), torch.nan)
    about = [
        ("digits", digits, half, {"title": "A digit"}),
        ("survey", people, nobody, {"title": "A survey", "about": INVENTED}),
    ]
    models = []
    for name, saved, row, more in about:
        export_onnx(saved, work / f"{name}.onnx")
        size = compress(work / f"{name}.onnx", folder / f"{name}.onnx.gz")
        files = {"onnx": f"{name}.onnx.gz", "bytes": runtime + size, "home": "../index.html"}
        files["runtime"] = {"module": "runtime.mjs", "wasm": "runtime.wasm.gz"}
        models.append({"name": name, **describe(saved), **beginning(saved, row), **more, **files})
    (folder / "models.json").write_text(json.dumps(models), encoding="utf-8")
    rest = [file for file in folder.iterdir() if not file.name.endswith(".gz")]
    return {model["name"]: model["bytes"] + sum(file.stat().st_size for file in rest) for model in models}


def main() -> None:
    """Build the page in the folder that is named, or say why not."""
    target = Path(sys.argv[1])
    work = target.parent / "play-parts"
    work.mkdir(parents=True, exist_ok=True)
    if reason := why_not(work):
        print(f"the page to play on is not built: {reason}")
        return
    for name, size in build(target, work).items():
        print(f"{target}: {name} is {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
