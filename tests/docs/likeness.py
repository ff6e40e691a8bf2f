"""Whether an answer is as a document shows it, but for what is left out and what changes."""

import re
from typing import Any

import pytest

#: Stands for what is left out: the rest of a list, of an object's fields, of a text.
MORE = "…"
#: Fields that differ at every run.
_OWN = {"request_id"}
#: Documents show numbers rounded.
_ROUNDED = 2e-3
#: Numbers from here on are seconds since 1970, which go on.
_TIMES = 1e9
#: Times of RFC 3339 go on too.
_MOMENT = re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.]+Z")
_SLATE_ID = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b")
_NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]\d+)?")


def differences(shown: Any, real: Any, place: str = "answer") -> list[str]:
    """Return where what is shown is not what came."""
    if isinstance(shown, dict) and isinstance(real, dict):
        return _of_objects(shown, real, place)
    if isinstance(shown, list) and isinstance(real, list):
        return _of_lists(shown, real, place)
    return [] if _is_like(shown, real) else [f"{place}: {shown!r} is shown, {real!r} came"]


def _of_objects(shown: dict[str, Any], real: dict[str, Any], place: str) -> list[str]:
    named = shown.keys() - {MORE}
    found = [f"{place}.{name} is shown and did not come" for name in sorted(named - real.keys())]
    if MORE not in shown:
        found += [f"{place}.{name} came and is not shown" for name in sorted(real.keys() - named)]
    for name in sorted(named & real.keys() - _OWN):
        found += differences(shown[name], real[name], f"{place}.{name}")
    return found


def _of_lists(shown: list[Any], real: list[Any], place: str) -> list[str]:
    named = [one for one in shown if one != MORE]
    if len(named) > len(real) or (len(named) == len(shown) and len(shown) != len(real)):
        return [f"{place}: {len(named)} are shown, {len(real)} came"]
    found = []
    for number, one in enumerate(named):
        found += differences(one, real[number], f"{place}[{number}]")
    return found


def _is_like(shown: Any, real: Any) -> bool:
    if isinstance(shown, str) and isinstance(real, str):
        shown, real = (_MOMENT.sub("time", _SLATE_ID.sub("id", one)) for one in (shown, real))
        if shown.endswith(MORE):
            return bool(real.startswith(shown.removesuffix(MORE)))
        return bool(shown == real)
    if isinstance(shown, bool) or isinstance(real, bool) or None in (shown, real):
        return shown is real
    if isinstance(shown, int | float) and isinstance(real, int | float) and shown > _TIMES:
        return real > _TIMES
    return bool(shown == pytest.approx(real, rel=_ROUNDED, abs=1e-6))


def missing_lines(shown: str, real: str) -> list[str]:
    """Return the lines that are shown and did not come, whatever numbers they have."""
    came = {_NUMBER.sub("0", line) for line in real.splitlines()}
    return [
        line for line in shown.splitlines() if line != MORE and _NUMBER.sub("0", line) not in came
    ]
