"""The page in a stock Firefox, as Debian has it."""

from pathlib import Path

import pytest

from tests.demo.page.firefox import find_firefox, open_firefox
from tools.screenshots.browser import LIST_READY

TITLES = "return [...document.querySelectorAll('#cards .card-title')].map(e => e.textContent)"
#: What is in each view once it is complete
VIEWS = {
    "counterfactual": ".counterfactual-columns",
    "map": ".map canvas",
    "simulation": ".simulation-charts svg",
    "operator": ".tile",
}


def test_firefox_answers_a_list_and_opens_every_view(address: str, tmp_path: Path) -> None:
    program = find_firefox()
    if program is None:
        pytest.skip("FIREFOX IS NOT TESTED: install it (Debian: apt-get install firefox-esr)")
    with open_firefox(program, tmp_path) as firefox:
        firefox.open(address)
        firefox.wait_for("return document.querySelector(arguments[0]) !== null", LIST_READY)
        before = firefox.run(TITLES)
        firefox.run(
            "window.complaints = []; addEventListener('error', e => complaints.push(e.message))"
        )
        firefox.click("#cards li:nth-child(2) .pick")
        firefox.click("#next")
        firefox.wait_for(
            f"{TITLES}.join() !== arguments[0] && document.querySelector(arguments[1]) !== null",
            ",".join(before),
            LIST_READY,
        )
        firefox.wait_for("return document.querySelector('#likes .belief') !== null")
        for view, part in VIEWS.items():
            firefox.run("location.hash = arguments[0]", f"#/{view}")
            found = f"#view-{view} {part}"
            firefox.wait_for("return document.querySelector(arguments[0]) !== null", found)

        assert len(before) == len(firefox.run(TITLES)) == 10
        assert not set(before) & set(firefox.run(TITLES))
        assert firefox.run("return complaints") == []
