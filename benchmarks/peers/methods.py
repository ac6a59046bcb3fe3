"""Table of all methods, their modules and settings."""

from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Setting:
    """One way to run a method.

    Attributes:
        name: distinguishes it from the method's other settings.
        options: of the peer's constructor.
        holes: True to hide as many cells of the training rows as of the rows to complete, so that chains of
            regressions learn from what they meet later; otherwise it is fitted on complete rows, once.
        train_rows: most training rows, to end within minutes; None for all.
        most_cells: most cells of the training rows, to end within minutes; None for any.
        only: "binary" or "categorical" where it does not suit the other kind of table.
    """

    name: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    holes: bool = False
    train_rows: int | None = None
    most_cells: int | None = None
    only: Literal["binary", "categorical"] | None = None


@dataclass(frozen=True)
class Method:
    """One imputer.

    Attributes:
        name: short, for the command line and records.
        title: for tables.
        library: the distribution that does the work.
        path: module:name of what makes the peer.
        settings: the best on validation rows is the one reported.
    """

    name: str
    title: str
    library: str
    path: str
    settings: tuple[Setting, ...] = (Setting(),)


METHODS = {
    method.name: method
    for method in (
        Method("nadek", "nadek (NADEkImputer)", "nade-k", "peers.ours:Ours"),
        Method("frequencies", "column means (SimpleImputer)", "scikit-learn", "peers.scikit:frequencies"),
        Method(
            "neighbours",
            "nearest neighbours (KNNImputer)",
            "scikit-learn",
            "peers.scikit:neighbours",
            tuple(Setting(f"k = {k}", {"number": k}) for k in (15, 30, 60)),
        ),
        Method(
            "ridge",
            "chained regressions (IterativeImputer, BayesianRidge)",
            "scikit-learn",
            "peers.scikit:chained_ridge",
            (Setting("whole rows"), Setting("rows with holes", holes=True)),
        ),
        Method(
            "trees",
            "chained trees (IterativeImputer, ExtraTrees)",
            "scikit-learn",
            "peers.scikit:chained_trees",
            (Setting("rows with holes", {"trees": 50, "rounds": 3}, holes=True),),
        ),
        Method(
            "miceforest",
            "miceforest",
            "miceforest",
            "peers.boosted:ChainedBoosting",
            (
                Setting("means", {"kind": "means", "rounds": 3}, holes=True),
                Setting("20 draws", {"kind": "draws", "rounds": 3}, holes=True, only="categorical"),
            ),
        ),
        Method(
            "missforest",
            "MissForest",
            "MissForest",
            "peers.boosted:Forest",
            (
                Setting("means", {"kind": "means"}, holes=True),
                Setting("labels", {"kind": "labels"}, holes=True, only="categorical"),
            ),
        ),
        Method(
            "soft-impute",
            "SoftImpute (HyperImpute)",
            "hyperimpute",
            "peers.transductive:Transductive",
            # with a column a level it does not end within minutes for two thousand rows of mushrooms
            (Setting("4,000 training rows", {"plugin": "softimpute"}, train_rows=4000, only="binary"),),
        ),
        Method(
            "gain",
            "GAIN (HyperImpute)",
            "hyperimpute",
            "peers.transductive:Transductive",
            (Setting("", {"plugin": "gain"}),),
        ),
        Method("chow-liu", "Chow-Liu tree", "numpy", "peers.tree:Tree"),
        Method(
            "mixture",
            "mixture by EM",
            "numpy",
            "peers.mixture:Mixture",
            tuple(Setting(f"{n} components", {"components": n}) for n in (25, 50, 100, 200)),
        ),
        Method(
            "sum-product",
            "sum-product network (deeprob-kit)",
            "deeprob-kit",
            "peers.sum_product:SumProduct",
            tuple(Setting(f"parts of {n}", {"rows": n}) for n in (100, 200, 400)),
        ),
        Method(
            "random-circuits",
            "random circuits (deeprob-kit, XPC)",
            "deeprob-kit",
            "peers.sum_product:RandomCircuits",
            tuple(Setting(f"parts of {n}", {"rows": n, "circuits": 10}, only="binary") for n in (50, 200)),
        ),
        Method(
            "hidden-tree",
            "hidden Chow-Liu tree (SPFlow)",
            "spflow",
            "peers.hidden_tree:HiddenTree",
            (
                Setting("16 states", {"states": 16}),
                # not done with the cells of plants after 15 minutes
                Setting("32 states", {"states": 32}, most_cells=300_000),
            ),
        ),
    )
}
