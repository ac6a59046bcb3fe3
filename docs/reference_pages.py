"""Write the pages of the reference, before Sphinx reads them: names, verbs and options, from the code itself.

They are reStructuredText in docs/reference, which is not kept. Python's names come from the ``__all__`` of the public
modules and link to a page each, verbs from the command line, and options of recipes from the fields and docstrings of
their dataclasses.
"""

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import typer.main

from nadek.cli.app import VERBS, make_app
from nadek.models.cores import AlternatingConfig, DeepConfig, ResidualConfig
from nadek.models.model_config import ImageConfig, ModelConfig
from nadek.training import AdaDelta, AdamW, Muon, Phase, Recipe, TrainingConfig
from nadek_paper import cli as paper

ROOT = Path(__file__).parents[1]

MODULES: dict[str, tuple[str, tuple[str, ...]]] = {
    "nadek": ("Estimators, and the layer for tensors", ()),
    "nadek.estimators": ("Several completed tables", ("pool", "Pooled")),
    "nadek.estimators.displays": (
        "Displays for notebooks",
        ("MissingDisplay", "CalibrationDisplay", "InformationDisplay"),
    ),
    "nadek.batches": ("Batches of engines", ()),
    "nadek.inference": ("Questions to a model", ()),
    "nadek.models": ("Networks", ()),
    "nadek.models.base": ("The base class of all models", ("ConditionalModel",)),
    "nadek.models.memory": ("A memory of rows", ("MemoryModel",)),
    "nadek.models.cores": ("Hidden layers", ("DeepConfig", "AlternatingConfig", "ResidualConfig")),
    "nadek.training": ("Training", ()),
    "nadek.tabular.columns": ("Types of columns", ("Binary", "Categorical", "Ordinal", "Numeric")),
    "nadek.checkpoints": ("Models on disk", ("load_saved",)),
    "nadek.sharing.export": ("Files of ONNX", ("export_onnx",)),
    "nadek.datasets": ("Data sets", ()),
    "nadek.figures": ("Pictures", ()),
}
"""Public modules: what each is about, and its names (all public ones where none are given)."""

RECIPE: tuple[tuple[str, type], ...] = (
    ("At the top", Recipe),
    ("[model]", ModelConfig),
    ('[model.core], kind = "deep"', DeepConfig),
    ('[model.core], kind = "alternating"', AlternatingConfig),
    ('[model.core], kind = "residual"', ResidualConfig),
    ('[model], kind = "images"', ImageConfig),
    ("[training]", TrainingConfig),
    ("[[training.phases]]", Phase),
    ('[training.optimizer], kind = "adamw"', AdamW),
    ('[training.optimizer], kind = "muon"', Muon),
    ('[training.optimizer], kind = "adadelta"', AdaDelta),
)
"""Tables of a recipe, and the dataclass of each."""


def write_reference(folder: Path) -> None:
    """Write all pages; files that stay the same are not touched."""
    commands = {"commands": ("nadek", make_app(VERBS)), "paper-commands": ("nadek-paper", paper.make_app())}
    pages = {page: _commands(name, app) for page, (name, app) in commands.items()}
    pages |= {"index": _index(), "recipes": _recipes(), **dict(_python())}
    folder.mkdir(exist_ok=True)
    for stale in set(folder.glob("*.rst")) - {folder / f"{name}.rst" for name in pages}:
        stale.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def public_names() -> dict[str, list[str]]:
    """Return the names of each public module, every object of ours once."""
    seen: set[int] = set()
    names: dict[str, list[str]] = {}
    for module, (_, chosen) in MODULES.items():
        home = import_module(module)
        documented = [name for name in chosen or home.__all__ if id(getattr(home, name)) not in seen]
        homes = {name: getattr(getattr(home, name), "__module__", "") for name in documented}
        names[module] = [name for name, own in homes.items() if own.startswith("nadek.")]
        seen |= {id(getattr(home, name)) for name in documented}
    return names


def _title(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n\n"


def _toctree(names: list[str], *options: str) -> str:
    lines = [*(f"   :{option}" for option in options), "", *(f"   {name}" for name in names)]
    return "\n".join([".. toctree::", *lines]) + "\n\n"


def _index() -> str:
    about = "Made from the code: signatures and docstrings, the help of the commands, the fields of recipes.\n\n"
    modules = [f"{title} <{module}>" for module, (title, _) in MODULES.items()]
    return _title("Reference") + about + _toctree(["commands", "recipes", *modules, "paper-commands"], "maxdepth: 1")


def _python() -> Iterator[tuple[str, str]]:
    """Yield a page for each module and each of its names."""
    for module, names in public_names().items():
        title, chosen = MODULES[module]
        text = _title(f"{title}: {module}")
        text += f".. {'py:module' if chosen else 'automodule'}:: {module}\n\n"
        yield (
            module,
            text + "".join(_summaries(module, names)) + _toctree([f"{module}.{name}" for name in names], "hidden:"),
        )
        for name in names:
            yield f"{module}.{name}", _object_page(module, name)


def _summaries(module: str, names: list[str]) -> Iterator[str]:
    """Yield a table of the names and of the first lines of their docstrings."""
    yield ".. list-table::\n   :widths: 35 65\n\n"
    for name in names:
        about = inspect.cleandoc(getattr(import_module(module), name).__doc__).partition("\n")[0]
        yield f"   * - :py:obj:`~{module}.{name}`\n     - {about}\n"
    yield "\n"


def _object_page(module: str, name: str) -> str:
    thing = getattr(import_module(module), name)
    directive = "autoclass" if inspect.isclass(thing) else "autofunction" if callable(thing) else "autodata"
    options = "   :members:\n   :inherited-members:\n" if inspect.isclass(thing) else ""
    return f"{_title(name)}.. currentmodule:: {module}\n\n.. {directive}:: {module}.{name}\n{options}"


def _commands(name: str, app: typer.Typer) -> str:
    """Return the page of a command line."""
    text = _title(f"Commands of {name}") + "Every verb also shows this with ``--help``.\n\n"
    return text + "".join(_command(name, typer.main.get_command(app)))


def _command(path: str, command: Any) -> Iterator[str]:  # noqa: ANN401 - typer's own class
    """Yield the sections of a command and of those below it."""
    yield f".. program:: {path}\n\n{_title(path, '-')}"
    paragraphs = (command.help or "").split("\n\n")
    yield "\n\n".join(_plain(" ".join(paragraph.split())) for paragraph in paragraphs) + "\n\n"
    for parameter in command.params:
        kind = _of_type(parameter.type_descriptor.annotation).removeprefix("list of ").removesuffix("s")
        flag = "" if kind == "yes or no" or not parameter.opts[0].startswith("-") else f" <{kind}>"
        spellings = ", ".join(option + flag for option in (*parameter.opts, *parameter.secondary_opts))
        text = _plain(parameter.help or "")
        default = str(parameter.default).removeprefix(f"{ROOT}/")
        text += f" Default: ``{default}``." if _shows_default(parameter, flag) else ""
        yield f".. option:: {spellings}\n\n   {text}\n\n"
    for name, verb in getattr(command, "commands", {}).items():
        yield from _command(f"{path} {name}", verb)


def _shows_default(parameter: Any, flag: str) -> bool:  # noqa: ANN401 - typer's own class
    return bool(flag and parameter.show_default and parameter.default is not None)


def _plain(text: str) -> str:
    """Turn the marks of typer's help into those of reStructuredText."""
    text = re.sub(r"([*_`|])", r"\\\1", text)
    text = re.sub(r"\[bold\](.*?)\[/\]", lambda match: f"``{match[1]}``".replace("\\", ""), text)
    return re.sub(r"\[dim\]\\+\[(.*?)\]\[/\]", r"Default: \1.", text)


def _recipes() -> str:
    """Return the page of all options of a recipe."""
    about = "A recipe is a TOML file for ``nadek fit --config``; ``--set training.l2=0.001`` sets one option. "
    text = _title("Options of a recipe") + about + "An option without a default has to be given.\n\n"
    for title, config in RECIPE:
        summary = inspect.cleandoc(config.__doc__ or "").partition("\n")[0].partition("; see the example")[0]
        text += f"{_title(title, '-')}{summary.rstrip('.')}.\n\n"
        text += "".join(_options(config))
    return text


def _options(config: Any) -> Iterator[str]:  # noqa: ANN401 - any dataclass
    """Yield an entry for each field of a dataclass."""
    hints, meanings = typing.get_type_hints(config), _meanings(config)
    for field in dataclasses.fields(config):
        if field.name != "kind":
            default = _default(field)
            yield f"``{field.name}`` : {_of_type(hints[field.name])}{default}\n    {meanings[field.name]}\n\n"


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is None or field.default_factory is not dataclasses.MISSING:
        return ", may be left out"
    shown = repr(field.default).replace("'", '"').replace("True", "true").replace("False", "false")
    if field.default is dataclasses.MISSING or "(" in shown.replace("(500, 500)", "[500, 500]"):
        return "" if field.default is dataclasses.MISSING else ", may be left out"
    return f", default ``{shown}``"


def _meanings(config: Any) -> dict[str, str]:  # noqa: ANN401
    """Read the section ``Attributes:`` of a docstring."""
    section = inspect.cleandoc(config.__doc__).partition("Attributes:\n")[2]
    entries = re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", section, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries}


def _of_type(hint: Any) -> str:  # noqa: ANN401 - types are data here
    """Return a type in words of TOML."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return " or ".join(f'"{choice}"' for choice in arguments)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(dict.fromkeys(_of_type(one) for one in arguments if one is not type(None)))
    if origin in (tuple, list):
        return f"list of {_of_type(arguments[0])}s".replace("texts", "words")
    if dataclasses.is_dataclass(hint):
        return "table"
    words: dict[Any, str] = {bool: "yes or no", int: "whole number", float: "number", str: "text", Path: "path"}
    return words.get(hint, getattr(hint, "__name__", str(hint)))
