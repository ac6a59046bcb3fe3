"""What a fitted density tells about rows with holes: their cells, their completions, and what to ask next."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from torch import Tensor

from nadek.estimators.cell_options import Cells
from nadek.estimators.options import Choice, Count, Randomness, check_choice, check_whole
from nadek.inference import beam, best_of, expected_information, greedy
from nadek.inference.sampling import Completed
from nadek.tabular.columns import decode
from nadek.tabular.selection import MatrixLike, Which, WhichOrNone, chosen_columns, column_index
from nadek.tabular.writeback import filled

METHODS = ("beam", "greedy", "certain", "draws")


class Questions(Cells):
    """The part of `nadek.NADEk` that is about holes."""

    def sample_conditional(self, X: MatrixLike, n_samples: int = 1, random_state: Randomness = None) -> list[Any]:
        """Completions of a table: in each, the missing cells of every row are one joint draw given its observed ones.

        Args:
            X: a table [N, D]; observed cells stay as they are.
            n_samples: how many completions.
            random_state: source of randomness.

        Returns:
            ``n_samples`` tables of the kind of ``X``.

        Raises:
            ValueError: if ``n_samples`` is less than 1.
        """
        check_whole("n_samples", n_samples)
        table, codes = self._read(X)
        seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_samples)
        return [filled(table, self._drawn(table, codes, int(seed))) for seed in seeds]

    def complete(
        self,
        X: MatrixLike,
        *,
        method: Choice = "beam",
        n_tries: Count = 16,
        ordering: WhichOrNone = None,
        random_state: Randomness = None,
    ) -> tuple[Any, NDArray[np.float64]]:
        """A probable completion of every row, and how probable it is. None of the methods finds the best for sure.

        Args:
            X: a table [N, D].
            method: "greedy" fills in one cell after the other with its most probable level; "certain" does so with the
                cell it is surest of next; "beam" follows the ``n_tries`` most probable beginnings along one ordering;
                "draws" keeps the best of ``n_tries`` joint draws.
            n_tries: of "beam" and "draws".
            ordering: names or indices of all columns in the order in which the missing ones are filled in; the first
                of ``orderings_`` when None. "certain" makes its own.
            random_state: source of the draws of "draws".

        Returns:
            The completed table, of the kind of ``X`` (a number is the mean of its bin), and [N] the log-probability in
            nats of what was filled in given what was there, along the ordering used.

        Raises:
            ValueError: on another method, and options that do not fit it.
        """
        check_choice("method", method, METHODS)
        check_whole("n_tries", n_tries)
        if method == "certain" and ordering is not None:
            raise ValueError('ordering: expected none beside the method "certain", which finds one for every row')
        table, codes = self._read(X)
        visited = self.orderings_[0] if ordering is None else self._visited(ordering)
        along = None if method == "certain" else torch.from_numpy(visited).to(codes.device)
        found = self._completed(codes, method, n_tries, along, random_state)
        missing, whole = codes.isnan().cpu().numpy(), found.x.cpu().numpy()
        fillings = {
            j: (missing[:, place], decode(column, whole[missing[:, place], place]))
            for place, (j, column) in enumerate(self._known())
        }
        return filled(table, fillings), found.log_prob.cpu().numpy()

    def suggest_next(self, X: MatrixLike, *, target: WhichOrNone = None) -> Float[np.ndarray, "N D"]:
        """What to ask next: how much the answer to each unknown cell is expected to tell.

        The expectation is over the model's own probabilities of the answers, exact, and looks one question ahead.

        Args:
            X: a table [N, D].
            target: columns to learn about: names, indices or a boolean mask. None: about all other unknown cells.

        Returns:
            Expected information in nats, [N, D], NaN for cells that are known: the largest of a row is the question to
            ask.

        Raises:
            ValueError: on a row of which all target cells are known.
        """
        table, codes = self._read(X)
        if target is None:
            return expected_information(self.network_, codes).cpu().numpy()
        wanted = torch.from_numpy(self._chosen("target", target)).to(codes.device)
        if not wanted.any():
            raise ValueError("target: expected at least one column, found none")
        settled = ~(codes.isnan() & wanted).any(1)
        if settled.any():
            row, names = int(settled.nonzero()[0]) + 1, [table.labels[j] for j in wanted.nonzero().flatten().tolist()]
            raise ValueError(
                f"target: expected an unknown cell among {', '.join(map(repr, names))} in every row, found none"
                f" in row {row}"
            )
        return expected_information(self.network_, codes, wanted).cpu().numpy()

    def _completed(
        self, codes: Tensor, method: str, n_tries: int, ordering: Tensor | None, random_state: Randomness
    ) -> Completed:
        if method == "draws":
            generator = self._generator(int(check_random_state(random_state).randint(np.iinfo(np.int32).max)))
            return best_of(self.network_, codes, n_draws=n_tries, ordering=ordering, generator=generator)
        if method == "beam":
            return beam(self.network_, codes, width=n_tries, ordering=ordering)
        return greedy(self.network_, codes, ordering=ordering, most_certain_first=method == "certain")

    def _chosen(self, what: str, which: Which) -> Bool[np.ndarray, " D"]:
        """A flag for each column."""
        return chosen_columns(what, which, self._labels(), named=hasattr(self, "feature_names_in_"))

    def _visited(self, ordering: Which) -> NDArray[np.int64]:
        """Column indices in the order told."""
        named, items = hasattr(self, "feature_names_in_"), np.asarray(ordering).tolist()
        if not isinstance(items, Sequence) or isinstance(items, str):
            raise ValueError(f"ordering: expected a list of all column names or indices, found {ordering!r}")
        found = [column_index("ordering", item, self._labels(), named=named) for item in items]
        if sorted(found) != list(range(self.n_features_in_)):
            raise ValueError(f"ordering: expected each of the {self.n_features_in_} columns once, found {ordering!r}")
        return np.array(found, dtype=np.int64)
