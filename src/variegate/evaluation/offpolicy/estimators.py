"""What a target policy's lists would earn, from the lists that another policy showed.

The value is the mean, over the users of the log, of the sum of a list's rewards. All of
these weigh what was logged by how much more likely the target is to show it; they differ in
what they take a reward to depend on, and the less it depends on, the less the weights vary.
"""

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from variegate.errors import InputError
from variegate.evaluation.offpolicy.estimate import Estimate, Options, estimated
from variegate.evaluation.offpolicy.log import SlateLog
from variegate.evaluation.offpolicy.model import RewardModel
from variegate.evaluation.offpolicy.weights import (
    check_overlap,
    checked_chances,
    prefix_weights,
)


def sips(log: SlateLog, target: ArrayLike, **options: Unpack[Options]) -> Estimate:
    """Weigh each list's total by the ratio of the whole list's chances (standard IPS).

    Unbiased whatever a reward depends on, as long as the logging policy can show every list
    that the target can. Its variance grows fastest with K.

    Parameters
    ----------
    target
        The chance with which the target policy puts the logged item in its position, given
        the logged items above it, (n, K).
    options
        See `Options`.

    Examples
    --------
    >>> from variegate.evaluation.offpolicy import slate_log
    >>> log = slate_log([[0], [1], [0], [1]], [[1], [0], [1], [1]], [[0.5]] * 4)
    >>> round(sips(log, [[0.9], [0.1], [0.9], [0.1]]).value, 2)
    0.95
    """
    weights = prefix_weights(log, target)[:, -1:]
    return estimated(weights, log.totals[:, None], **options)


def rips(log: SlateLog, target: ArrayLike, **options: Unpack[Options]) -> Estimate:
    """Weigh each reward by the ratio of the chances of the list down to its position.

    Reward interaction IPS (McInerney et al. 2020). Unbiased if a reward depends on the item
    and on those above it, but not on those below: what the paper's click model says
    (Eq. 10), and a user who reads from the top. `target` and `options` are those of `sips`.
    """
    return estimated(prefix_weights(log, target), log.rewards, **options)


def iips(
    log: SlateLog,
    target_marginals: ArrayLike,
    logging_marginals: ArrayLike,
    **options: Unpack[Options],
) -> Estimate:
    """Weigh each reward by the ratio of the chances of its item in its position alone.

    Independent IPS (Li et al. 2018). Unbiased if a reward depends on the item and its
    position and on no other item of the list, and then for any two policies. It needs
    *marginal* chances, that an item comes to stand in a position whatever stands above it:
    a sum over all beginnings of a list, which the log's propensities, given the items above,
    do not tell. Only where both policies fill each position without a look at the others
    are the two the same, and `log.propensities` may be handed in; items that may not repeat
    already break that. Where items do interact, as in the paper's model, it is biased and
    no amount of data helps.

    Parameters
    ----------
    target_marginals
        The target's chance of the logged item in its position, (n, K).
    logging_marginals
        The logging policy's, greater than 0, (n, K).
    options
        See `Options`.
    """
    logged = checked_chances("logging_marginals", logging_marginals, log)
    if not (logged > 0).all():
        raise InputError("`logging_marginals` must be greater than 0 for what was logged, got 0")
    weights = checked_chances("target_marginals", target_marginals, log) / logged
    check_overlap(weights, "in")
    return estimated(weights, log.rewards, **options)


def cascade_dr(
    log: SlateLog, target: ArrayLike, model: RewardModel, **options: Unpack[Options]
) -> Estimate:
    """Correct a model's guess by the weighted errors it made on the log (doubly robust).

    Cascade DR (Kiyohara et al. 2022): under the assumption of `rips` unbiased for any model
    that was not fitted to the same lists, however wrong, and the nearer the model the
    smaller the variance; a model of zeros gives `rips` itself. `target` and `options` are
    those of `sips`.
    """
    weights = prefix_weights(log, target)
    if model.taken.shape != log.items.shape:
        raise InputError(f"`model` must have shape {log.items.shape}, got {model.taken.shape}")
    above = np.hstack([np.ones((len(log), 1)), weights[:, :-1]])
    outcomes = np.hstack([log.rewards - model.taken, model.expected])
    return estimated(np.hstack([weights, above]), outcomes, **options)
