"""What was chosen, in words."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from variegate.evaluation.choosing.settings import LearnerSettings

if TYPE_CHECKING:
    from variegate.evaluation.choosing.chosen import Candidate, Chosen

#: With fewer users held out, scores differ by chance as much as by settings.
FEW: Final = 50
_HEAD: Final = ("score", "F1/LMDH", "penalty", "exploration", "floor", "noise", "beta var.")


def described(chosen: "Chosen", most: int) -> tuple[str, ...]:
    """Return the lines of `Chosen.describe`."""
    best = chosen.candidates[0]
    counts = ", ".join(f"{name} {count}" for name, count in chosen.users.items())
    each = ", ".join(f"{name} {value:.3f}" for name, value in best.relative.items())
    lines = [
        f"chosen by replaying training users who were held out: {counts}; "
        f"{_counted(chosen.folds, 'fold')}, {_counted(chosen.rounds, 'round')} of {chosen.k} items",
        _kept_out(chosen),
        f"mean F1 over rounds, LMDH's = 1: {best.objective:.3f} ({each})",
        *(best.broken or ["all promises are kept"]),
    ]
    if min(chosen.users.values(), default=FEW) < FEW:
        lines.append(
            f"with fewer than {FEW} users held out it is luck as much as choice: more folds help"
        )
    return (*lines, "", *_table(chosen, most))


def _kept_out(chosen: "Chosen") -> str:
    if not chosen.splits:
        return "all users are training users: test on others"
    splits = ", ".join(map(str, chosen.splits))
    return f"test users of split{'s' * (len(chosen.splits) > 1)} {splits} had no part in it"


def _table(chosen: "Chosen", most: int) -> Iterator[str]:
    several = len(chosen.distances) - 1
    ranked = sorted(chosen.candidates, key=lambda one: -one.score)
    ranked.sort(key=lambda one: one is not chosen.candidates[0])  # it wins ties
    shown = ranked[:most]
    # The defaults are what one would have without a search.
    defaults = [one for one in ranked[most:] if one.settings == LearnerSettings()]
    rows = [_row(one, several) for one in [*shown, *defaults]]
    head = [*_HEAD, *(["scales"] if several else []), ""]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in [head, *rows]:
        yield "  ".join(cell.rjust(w) for cell, w in zip(row[:-1], widths, strict=False)) + (
            f"  {row[-1]}" if row[-1] else ""
        )
    left = len(ranked) - len(rows)
    if left:
        yield f"and {left} more"


def _row(one: "Candidate", several: int) -> list[str]:
    settings = one.settings
    floor = "[" + ",".join(f"{number:g}" for number in settings.floor) + "]"
    return [
        f"{one.score:.3f}",
        f"{one.objective:.3f}",
        f"{one.penalty:.3f}",
        f"{settings.exploration:g}",
        floor,
        f"{settings.noise_factor:g}",
        f"{settings.beta_variance:g}",
        *([_scales(settings, several)] if several else []),
        "the defaults" if settings == LearnerSettings() else "",
    ]


def _scales(settings: LearnerSettings, others: int) -> str:
    scales = [1.0, *settings.scales, *[1.0] * (others - len(settings.scales))]
    return ":".join(f"{scale:g}" for scale in scales)


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
