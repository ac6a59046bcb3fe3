"""Groups of options: a dataclass as a parameter of a verb, as typer knows single options only."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any


def with_groups(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb an option for each field of its dataclasses."""
    signature = inspect.signature(verb)
    annotations = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    groups: dict[str, Any] = {name: group for name, group in annotations.items() if is_dataclass(group)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        options = inspect.signature(groups[name]).parameters.values() if name in groups else [parameter]
        parameters += [p.replace(kind=p.KEYWORD_ONLY) for p in options] if name in groups else options

    @wraps(verb)
    def command(*arguments: Any, **values: Any) -> None:  # noqa: ANN401
        for name, group in groups.items():
            given = {field.name for field in fields(group)} & values.keys()
            values[name] = group(**{field: values.pop(field) for field in given})
        verb(*arguments, **values)

    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command
