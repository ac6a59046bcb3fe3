"""What a row's training begins as: random weights, an RBM of the tables, or the network of another row, shallower."""

from collections.abc import Callable
from functools import partial

from nadek.conditional import ConditionalNetwork
from nadek.experiments.jobs import Job, Workplace
from nadek.experiments.machines import MachineJob
from nadek.experiments.rows import Kind, Row, find_row
from nadek.model import Network, begin_as_rbm, begin_as_shallower, check_growth
from nadek.training import Epoch, data_mean

Told = Callable[[Epoch], None] | None


def job_of(row: Row, kind: Kind, place: Workplace, *, on_start: Told = None) -> Job:
    """The training that a row asks for.

    Args:
        row: what to run.
        kind: which of its recipes.
        place: folders and device.
        on_start: told of the training of what it begins as, where that is not there yet.

    Raises:
        ValueError: if the row has no such recipe.
    """
    recipe, begin = row.recipe(kind), None
    if recipe.start is not None:
        begin = partial(begin_as_row, name=recipe.start, data=row.data, place=place, on_start=on_start)
    return Job(name=f"{row.table}-{row.name}-{kind}", data=row.data, recipe=recipe, place=place, begin=begin)


def begin_as_row(model: ConditionalNetwork, name: str, data: str, place: Workplace, *, on_start: Told = None) -> None:
    """Let a network begin as another row's: an RBM, or a network with a hidden layer less by its modern recipe.

    It is trained first where it is not yet.

    Args:
        model: the network, overwritten.
        name: the row, "TABLE/ROW".
        data: what the network will be trained on.
        place: folders and device.
        on_start: told of that row's training.

    Raises:
        FileNotFoundError: if there is no such table.
        ValueError: if it is a row of other data, or the network cannot begin as its model (see
            `nadek.model.begin_as_rbm` and `nadek.model.begin_as_shallower`).
    """
    row = find_row(place.experiments, name)
    if row.data != data:
        raise ValueError(f"start: expected a row of {data}, found {name}, which is one of {row.data}")
    if not isinstance(model, Network):
        raise ValueError(f"start: expected a network with columns, found a {type(model).__name__}")
    if row.rbm is not None:
        job = MachineJob.of(row, place)
        machine, _ = job.trained(on_epoch=on_start)
        begin_as_rbm(model, machine.W, machine.b, machine.c, mean=data_mean(job.open("train")))
        return
    config = row.recipe("modern").model
    if not isinstance(config, type(model.config)):
        raise ValueError(f"start: expected a row with columns, found {name}")
    check_growth(model.config, config)  # before the training; and no row begins as itself
    shallower = job_of(row, "modern", place, on_start=on_start).trained(on_epoch=on_start).model
    assert isinstance(shallower, Network)
    begin_as_shallower(model, shallower)
