"""The columns of a model's table, as a saved model keeps them."""

from dataclasses import dataclass

from nadek.tabular.columns import Column
from nadek.tabular.names import labels_of


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The columns of a model.

    Attributes:
        columns: their names; None for tables without a header.
        image_shape: height and width where a row is a picture.
        kinds: what each of them holds; None where all hold 0 and 1, and nobody counted.
        dropped: names of columns of the table that were left out, and are not looked at later.
        types: names of the types that they had in Parquet, as Arrow writes them; new rows have them there.
        missing: words that stand for nothing, beside those that always do.
        missing_in: names of columns, each with a word that stands for nothing there.
        nameless: the name in messages and options of the column that has none, by its place in training.

    Example:
        >>> from nadek.tabular.columns import Binary, Categorical, n_levels
        >>> kinds = Binary(levels=("no", "yes")), Categorical(levels=("Bern", "Rome", "Ulm"))
        >>> [n_levels(kind) for kind in Schema(columns=("smokes", "town"), kinds=kinds).kinds]
        [2, 3]
    """

    columns: tuple[str, ...] | None = None
    image_shape: tuple[int, int] | None = None
    kinds: tuple[Column, ...] | None = None
    dropped: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    missing: tuple[str, ...] | None = None
    missing_in: tuple[tuple[str, str], ...] | None = None
    nameless: str | None = None

    def labels(self, n_columns: int) -> tuple[str, ...]:
        """Return the names of the columns in messages and options, see `nadek.tabular.names.labels_of`.

        Columns without names have the numbers of the training table, in which some may have been dropped.
        """
        if self.columns is not None:
            labels = labels_of(self.columns, n_columns)
            return labels if self.nameless is None else tuple(name or self.nameless for name in self.columns)
        dropped = self.dropped or ()
        return tuple(label for label in labels_of(None, n_columns + len(dropped)) if label not in dropped)
