"""Check the wheels and sdists in build/packages: they hold the files of git and no others, are small, and work."""

import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[1]
ARCHIVES = ROOT / "build" / "packages"
LARGEST = 12 * 2**20
"""Bytes of an archive; nearly all are trained models."""

BESIDE = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")
PROJECTS = (("nade_k", ROOT, "src/nadek"), ("nadek_paper", ROOT / "paper", "nadek_paper"))
"""Of each project: the name of its archives, its folder, and its package in there."""


def tracked(folder: Path, *places: str) -> set[str]:
    """Return the files of git in some places of a folder."""
    command = ["git", "ls-files", "-z", "--", *places]
    listed = subprocess.run(command, cwd=folder, capture_output=True, check=True, text=True)
    return set(listed.stdout.split("\0")) - {""}


def faults(name: str, folder: Path, package: str) -> Iterator[str]:
    """Yield what is wrong with the archives of a project."""
    (wheel,), (sdist,) = ARCHIVES.glob(f"{name}-*.whl"), ARCHIVES.glob(f"{name}-*.tar.gz")
    with ZipFile(wheel) as opened:
        in_wheel = {file for file in opened.namelist() if ".dist-info/" not in file}
    with tarfile.open(sdist) as opened:
        in_sdist = {file.partition("/")[2] for file in opened.getnames()}
    of_wheel = {file.removeprefix("src/") for file in tracked(folder, package)}
    of_sdist = tracked(folder, package, *BESIDE) | {"PKG-INFO", ".gitignore"}  # the last two are of the build
    for path, inside, expected in ((wheel, in_wheel, of_wheel), (sdist, in_sdist, of_sdist)):
        yield from (f"{path.name}: {file} does not belong there" for file in sorted(inside - expected))
        yield from (f"{path.name}: {file} is missing" for file in sorted(expected - inside))
        if (size := path.stat().st_size) > LARGEST:
            yield f"{path.name}: {size:,} bytes, at most {LARGEST:,} are allowed"


def smoke() -> None:
    """Use the wheels, from a folder that comes before all others."""
    with TemporaryDirectory() as folder:
        options = ("--quiet", "--no-deps", "--no-index", "--target", folder)
        wheels = sorted(ARCHIVES.glob("*.whl"))
        subprocess.run([sys.executable, "-m", "pip", "install", *options, *wheels], check=True)
        environment = {**os.environ, "PYTHONPATH": folder}
        subprocess.run([sys.executable, ROOT / ".ci" / "smoke.py"], check=True, cwd=folder, env=environment)


def main() -> None:
    """Print the faults, or use the wheels where there is none."""
    if wrong := [fault for project in PROJECTS for fault in faults(*project)]:
        sys.exit("\n".join(wrong))
    smoke()


if __name__ == "__main__":
    main()
