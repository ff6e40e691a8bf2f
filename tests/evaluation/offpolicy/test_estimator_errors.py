"""What the estimators refuse, and in which words."""

from typing import Any

import numpy as np
import pytest

from tests.evaluation.offpolicy.making import cascading, made_log
from variegate.errors import InputError
from variegate.evaluation.offpolicy import RewardModel, cascade_dr, iips, rips, sips, slate_log

LOG = made_log(cascading, 10, 0)


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        (np.zeros((10, 2)), {}, r"`target` must have shape \(10, 3\), got \(10, 2\)"),
        (np.full((10, 3), 1.5), {}, "`target` must lie from 0 to 1, got 1.5"),
        (np.full((10, 3), np.nan), {}, "`target` must be finite, got nan"),
        (np.zeros((10, 3)), {}, "down to position 0, got 0 for all: no overlap"),
        ([[1, 1, 0]] * 10, {}, "down to position 2, got 0 for all: no overlap"),
        (LOG.target, {"confidence": 1.5}, "`confidence` must be a number from 0 to 1, got 1.5"),
        (
            LOG.target,
            {"interval": "bootstrap", "resamples": 5},
            "`resamples` must be at least 100, got 5",
        ),
    ],
)
def test_what_cannot_be_estimated_is_refused(
    target: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        rips(LOG.log, target, **options)


def test_unknown_interval_is_refused() -> None:
    with pytest.raises(LookupError, match="`interval` must be one of normal, bootstrap"):
        rips(LOG.log, LOG.target, interval="bootstrp")  # type: ignore[arg-type]


def test_one_list_is_too_few() -> None:
    log = slate_log([[0]], [[1]], [[0.5]])

    with pytest.raises(InputError, match="needs at least 2 lists, got 1"):
        sips(log, [[1.0]])


@pytest.mark.parametrize(
    ("target", "logging", "message"),
    [
        (0.5, 0.0, "`logging_marginals` must be greater than 0 for what was logged, got 0"),
        (0.0, 0.5, "in position 0, got 0 for all: no overlap"),
        (0.5, 1.5, "`logging_marginals` must lie from 0 to 1, got 1.5"),
    ],
)
def test_marginals_that_cannot_be_are_refused(target: float, logging: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        iips(LOG.log, np.full((10, 3), target), np.full((10, 3), logging))


def test_model_of_another_log_is_refused() -> None:
    zeros = np.zeros((9, 3))

    with pytest.raises(InputError, match=r"`model` must have shape \(10, 3\), got \(9, 3\)"):
        cascade_dr(LOG.log, LOG.target, RewardModel(zeros, zeros))
