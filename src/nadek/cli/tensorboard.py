"""Curves of a training for TensorBoard."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nadek.training import Epoch

Watcher = Callable[[Epoch], None]


@contextmanager
def curves(folder: Path | None, show: Watcher) -> Iterator[Watcher]:
    """Extend ``show`` to write costs into a folder."""
    if folder is None:
        yield show
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ModuleNotFoundError:
        missing = "--tensorboard needs the extra tensorboard: pip install 'nade-k[tensorboard]'"
        raise ModuleNotFoundError(missing) from None
    with SummaryWriter(str(folder)) as writer:

        def show_and_write(epoch: Epoch) -> None:
            show(epoch)
            for name, costs in (("training", epoch.train), ("validation", epoch.validation)):
                if costs is not None:
                    writer.add_scalar(f"cost/{name}", costs[-1], epoch.epoch)

        yield show_and_write
