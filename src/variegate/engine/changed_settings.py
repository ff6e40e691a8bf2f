"""What a start with other settings changes, and what it leaves as it is."""

import json
from typing import Any, Final

from variegate.engine.experiment import Experiment
from variegate.engine.terms import Rules
from variegate.errors import VariegateError
from variegate.model.catalogue import Catalogue
from variegate.store import Reader, Store

#: The note that holds the settings of the last start.
NOTE: Final = "list_settings"
#: Settings that every list keeps with it, and whether lists of before may still close under them
_KEPT: Final = {
    "aggregation": True,
    "default_reward": True,
    "late": True,
    "wait_seconds": True,
    "memory": False,
    "memory_days": False,
    "mix": False,
}
#: Open lists are counted up to this many.
_MOST: Final = 10_000


def note_settings(
    store: Store, rules: Rules, experiment: Experiment, catalogue: Catalogue
) -> list[str]:
    """Note the settings that concern lists; return a sentence for each that has changed.

    A store that has no such note yet has no settings to compare with.
    """
    mine = {
        **{name: getattr(rules, name) for name in _KEPT},
        "split": dict(experiment.split),
        "policies": dict(experiment.lines),
    }
    with store.reading() as reader:
        text = reader.meta(NOTE)
        known = mine if text is None else json.loads(text)
        changes = [
            *(
                _changed_terms(reader, name, known, mine)
                for name in _KEPT
                if _differs(name, known, mine)
            ),
            *_changed_policies(reader, known["policies"], experiment, catalogue),
        ]
    if _differs("split", known, mine):
        changes.append(f"{_from_to('split', known, mine)}: it holds for users who are new")
    if text is None or known != mine:
        with store.batch() as batch:
            batch.set_meta(NOTE, json.dumps(mine))
    return changes


def _differs(name: str, known: dict[str, Any], mine: dict[str, Any]) -> bool:
    return name in known and known[name] != mine[name]


def _from_to(name: str, known: dict[str, Any], mine: dict[str, Any]) -> str:
    return f"setting `{name}` changed from {known[name]!r} to {mine[name]!r}"


def _changed_terms(reader: Reader, name: str, known: dict[str, Any], mine: dict[str, Any]) -> str:
    change = f"{_from_to(name, known, mine)}: it holds for lists that are given from now on"
    if not _KEPT[name]:
        return change
    count = reader.count_closing(_MOST + 1)
    many = f"more than {_MOST}" if count > _MOST else str(count)
    return (
        f"{change}; lists of before keep the terms they were given under, and {many} of them "
        "close by themselves when their time is over"
    )


def _changed_policies(
    reader: Reader, known: dict[str, str], experiment: Experiment, catalogue: Catalogue
) -> list[str]:
    changes = []
    for name, line in known.items():
        if name not in experiment.lines:
            effect = f"is no longer served: its {reader.count_users(name)} users get another of "
            effect += "the policies with their next list, and relearn from the log"
        elif experiment.lines[name] != line:
            effect = f"changed from {line!r} to {experiment.lines[name]!r}: its "
            effect += f"{reader.count_users(name)} users "
            effect += (
                "go on with what they have learnt"
                if _can_go_on(name, line, experiment, catalogue)
                else "relearn from the log with their next list"
            )
        else:
            continue
        changes.append(f"policy `{name}` {effect}")
    new = [name for name in experiment.names if name not in known]
    return changes + [f"policy `{name}` is new: new users may get it" for name in new]


def _can_go_on(name: str, line: str, experiment: Experiment, catalogue: Catalogue) -> bool:
    """Tell whether a policy can be restored from what one of another line has learnt."""
    try:
        state = Experiment({name: line}).new_policy(name, catalogue).state()
        experiment.new_policy(name, catalogue).restore(state)
    except VariegateError:
        return False
    return True
