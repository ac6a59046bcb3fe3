"""How a table stands in its file: what a model reads of it, where, and what lies beside that."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadek.tabular.io import AnyColumn, RawTable, Target, columns_beside, columns_filled


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the columns that a model reads stand in a file, in which there may be others.

    Attributes:
        columns: names of all columns of the file; None where they have none.
        places: where those of the model stand among them.
        raw: the table.
    """

    columns: tuple[str, ...] | None
    places: tuple[int, ...]
    raw: RawTable

    def others(self, target: Target) -> dict[int, AnyColumn]:
        """The columns that the model does not read, to be written along with those it does.

        Args:
            target: where to.

        Raises:
            ValueError: on one that the form of the file cannot hold.
        """
        return columns_beside(self.raw, self.places, target)

    def filled(self, values: Sequence[NDArray[Any]], missing: NDArray[np.bool_], target: Target) -> list[AnyColumn]:
        """The columns that the model reads, as they stand but for their holes.

        Args:
            values: these columns without holes, D arrays [N].
            missing: where the holes were, [N, D].
            target: where to.
        """
        return columns_filled(self.raw, self.places, values, missing, target)

    def whole(self, columns: Sequence[AnyColumn], others: dict[int, AnyColumn]) -> list[AnyColumn]:
        """All columns of the file, in its order.

        Args:
            columns: those that the model reads.
            others: see `others`.
        """
        found = others | dict(zip(self.places, columns, strict=True))
        return [found[place] for place in sorted(found)]
