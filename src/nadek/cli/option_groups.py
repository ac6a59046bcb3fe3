"""Groups of options: a dataclass as a parameter of a verb, as typer knows single options only."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any


def with_groups(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb one option for each field of its dataclass parameters.

    The verb itself gets the dataclasses. Fields are declared as options are: ``name: Annotated[type, typer.Option()]``.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Size:
        ...     width: int = 1
        >>> @with_groups
        ... def show(name: str, *, size: Size) -> None:
        ...     print(name, size)
        >>> str(inspect.signature(show))
        '(name: str, *, width: int = 1) -> None'
        >>> show("box", width=3)
        box Size(width=3)
    """
    signature = inspect.signature(verb)
    groups: dict[str, Any] = {
        name: p.annotation for name, p in signature.parameters.items() if is_dataclass(p.annotation)
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        options = inspect.signature(groups[name]).parameters.values() if name in groups else [parameter]
        parameters += [p.replace(kind=p.KEYWORD_ONLY) for p in options] if name in groups else options

    @wraps(verb)
    def command(*arguments: Any, **values: Any) -> None:  # noqa: ANN401
        for name, group in groups.items():
            values[name] = group(
                **{field.name: values.pop(field.name) for field in fields(group) if field.name in values}
            )
        verb(*arguments, **values)

    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command
