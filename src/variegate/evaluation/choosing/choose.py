"""Settings chosen on training users alone, by cross-validated replay."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from variegate.arrays import check_count
from variegate.data.dataset import Dataset
from variegate.errors import InputError
from variegate.evaluation.choosing.chosen import Chosen
from variegate.evaluation.choosing.folds import (
    Fold,
    fold_seed,
    known_fold,
    learnt_fold,
    training_part,
)
from variegate.evaluation.choosing.judging import Progress, judging_on
from variegate.evaluation.choosing.measures import Constraints
from variegate.evaluation.choosing.playing import Stage
from variegate.evaluation.choosing.search import coordinate_descent
from variegate.evaluation.choosing.settings import LearnerSettings
from variegate.evaluation.choosing.space import coordinates
from variegate.evaluation.tasks import PROTOCOLS, Protocol
from variegate.model.catalogue import Catalogue

#: The most passes through all settings.
PASSES: Final = 3
#: What is promised unless something else is.
PROMISES: Final = Constraints()


def choose_settings(
    datasets: Mapping[str, Dataset],
    *,
    protocol: Protocol | Mapping[str, Protocol] | None = None,
    catalogues: Mapping[str, Catalogue] | None = None,
    split: int | Sequence[int] | None = None,
    folds: int = 1,
    users: int = 200,
    rounds: int = 30,
    k: int = 10,
    seed: int = 0,
    space: Mapping[str, Sequence[float]] | None = None,
    promises: Constraints | None = PROMISES,
    workers: int = 1,
    cache: str | Path | None = None,
    progress: Progress = lambda _doing, _done, _of: None,
) -> Chosen:
    """Return the settings of LMDP that do best for training users who were held out.

    *Fitted*, by marginal likelihood, is what likes speak of: the mean and covariance of theta
    and the noise (`fit_prior`). *Chosen*, by replay, is the rest: exploration, the floor under
    variety, what multiplies the noise, the spread of beta, and how distances compare.

    Each data set's training users are split again, 80/20. Embeddings, popularity and the prior
    are learnt from the 80, and LMDP is replayed on the others with each setting tried. The
    score is the mean over rounds of F1 (of mean recall and mean diversity, as in the paper)
    over that of the paper's LMDH for the same users; the mean over distances and data sets;
    less a penalty for `promises` that are missed. The search is coordinate descent from the
    defaults, and of equals the nearest to what was there before wins.

    Parameters
    ----------
    datasets
        By the names that the result calls them. One set of settings is chosen for all.
    protocol
        How they are treated, or by name; the paper's, if not given.
    catalogues
        By name, for data sets whose items have features already: no embeddings are learnt then.
        Features that were learnt from the same likes know what is held out; those of the
        items' content do not.
    split
        Seeds of `split_users`: the test users of these splits have no part in the choice.
        Without one, all users are training users.
    folds
        How often training users are split again, with other seeds.
    users
        At most so many validation users a fold.
    space
        Values to try by setting, in place of `SPACE`; what it does not name stays.
    promises
        None asks for nothing but F1.
    workers, cache
        As for `evaluate` and `fit_bpr`; neither changes what is chosen.
    """
    for name, number in (("folds", folds), ("users", users)):
        check_count(number, 10**6, name=name, of="the most that make sense")
    if not datasets:
        raise InputError("`datasets` must have at least one data set, got none")
    splits = _splits(split)
    folding = _Folding(protocol, catalogues or {}, splits, folds, seed, users, cache)
    parts = [
        fold for name, data in datasets.items() for fold in folding.folds_of(name, data, progress)
    ]
    distances = _distances(parts)
    judge = judging_on(Stage(parts, rounds, k, seed, workers), promises, progress)
    found = coordinate_descent(
        judge, LearnerSettings(), coordinates(space, len(distances)), passes=PASSES
    )
    counts = dict.fromkeys(datasets, 0)
    for fold in parts:
        counts[fold.name] += len(fold.plain.likes)
    return Chosen(found[0].settings, found, counts, splits, distances, folds, rounds, k, seed)


def _splits(split: int | Sequence[int] | None) -> tuple[int, ...]:
    if split is None:
        return ()
    return (split,) if isinstance(split, int) else tuple(dict.fromkeys(split))


@dataclass(frozen=True)
class _Folding:
    """How the training users of a data set are split again."""

    protocol: Protocol | Mapping[str, Protocol] | None
    catalogues: Mapping[str, Catalogue]
    splits: tuple[int, ...]
    folds: int
    seed: int
    users: int
    cache: str | Path | None

    def folds_of(self, name: str, dataset: Dataset, progress: Progress) -> Iterator[Fold]:
        told = self.protocol
        own = told.get(name) if isinstance(told, Mapping) else told
        own = own or PROTOCOLS.get(dataset.name, Protocol())
        training = training_part(dataset, self.splits, train=own.train)
        for number in range(self.folds):
            tell = partial(progress, f"Learning {name}, fold {number + 1} of {self.folds}")
            drawn = {"split": fold_seed(self.seed, number), "users": self.users}
            if name in self.catalogues:
                yield known_fold(name, training, self.catalogues[name], train=own.train, **drawn)
            else:
                yield learnt_fold(name, training, own, **drawn, cache=self.cache, progress=tell)


def _distances(folds: Sequence[Fold]) -> tuple[str, ...]:
    found = {tuple(h.name for h in fold.plain.catalogue.distances) for fold in folds}
    if len(found) > 1 or not next(iter(found)):
        told = " and ".join(", ".join(names) or "none" for names in sorted(found))
        raise InputError(
            f"`protocol` must give all data sets the same distances, at least one, got {told}"
        )
    return found.pop()
