"""Trained models that come with the package: a folder each, with a model card, known by the folder's name."""

from pathlib import Path

_HERE = Path(__file__).parent


def names() -> list[str]:
    """All of them."""
    return sorted(config.parent.name for config in _HERE.glob("*/config.json"))


def find(folder: Path) -> Path:
    """The folder itself where there is one, else that of the shipped model of this name.

    Example:
        >>> find(Path("caltech101-unet")).is_dir()
        True
    """
    return _HERE / folder if not folder.exists() and str(folder) in names() else folder
