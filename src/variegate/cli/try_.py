"""`variegate try`: in the terminal you are the user."""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.demo import Session
    from variegate.model.catalogue import Catalogue
    from variegate.policies import Policy

#: On features no longer than 1, such as those of the bundled films, the paper's 50 outweighs
#: dozens of lists, and nothing that a person does would be seen to matter.
RIDGE: Final = 1.0
#: 27 made-up tastes before six lists of ten films found 39.9 that they liked, on average, with 0.1
#: as with 0.3, and 38.1 with 1.
EXPLORATION: Final = 0.3

HELP: Final = """\
Type the numbers of those you would pick, such as 1 4 9 or 1,4,9, and Enter.
Enter alone: none of them.  w: why these?  ?: this help.  q: done.
Nothing is shown twice. "new in": far even from the nearest item above.
Then you are told what was learnt: + for what you pick, - for what you pass by,
"perhaps" where it could still be luck; and how far from the items above those
stood that you picked, beside those you passed by."""


@click.command("try")
@click.option("--catalogue", metavar="FILE", help="Of `variegate build`.  [default: the films]")
@click.option("--policy", default="lmdp", show_default=True, help="Who recommends.")
@click.option("--k", default=10, show_default=True, help="Items in a list.")
@click.option("--seed", default=0, show_default=True, help="For policies that draw.")
@click.option("--ridge", type=float, help=f"Caution in learning, for lmdh.  [default: {RIDGE:g}]")
@click.option(
    "--exploration",
    type=float,
    help=f"Curiosity; 0 has none.  [default: the policy's, {EXPLORATION:g} for lmdh]",
)
def try_(
    catalogue: str | None,
    policy: str,
    k: int,
    seed: int,
    ridge: float | None,
    exploration: float | None,
) -> None:
    """Be the user: pick from lists, and watch what is learnt of you.

    Ten films at a time, or the items of any catalogue. Type the numbers of those you would
    pick; it learns what you like and how varied you want it, and says so. Picks can come from
    a pipe as well, a line a list.

    \b
    Examples:
        variegate try
        variegate try --catalogue shop.npz --k 5
        variegate try --policy lmdh
        printf '1 4\\n2\\n\\n' | variegate try --policy c2ucb
    """
    from variegate.cli.console import plain_console
    from variegate.data.films import film_catalogue
    from variegate.demo import Session
    from variegate.model.catalogue import Catalogue

    console = plain_console()
    given = {"ridge": ridge, "exploration": exploration}
    options = {name: value for name, value in given.items() if value is not None}
    with console.status("Opening the catalogue"):
        items = film_catalogue() if catalogue is None else Catalogue.load(catalogue)
        session = Session(_policy(policy, items, options), k=k, rng=seed)
        session.slate()  # the first one waits for numba
    # A pipe may bring any bytes: what cannot be read is a wrong answer, not the end.
    with suppress(AttributeError):
        sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    Conversation(console, session).hold()


def _policy(text: str, items: "Catalogue", given: dict[str, float]) -> "Policy":
    from inspect import signature

    from variegate.policies import POLICIES, PolicySpec, parse_policy

    spec = parse_policy(text)
    known = signature(POLICIES[spec.name]).parameters if spec.name in POLICIES else {}
    own: dict[str, Any] = {"ridge": RIDGE} if "ridge" in known else {}
    if spec.name == "lmdh":
        own["exploration"] = EXPLORATION
    return PolicySpec(spec.name, {**own, **spec.options, **given})(items)


class Conversation:
    """A session in a terminal, or over a pipe."""

    def __init__(self, console: "Console", session: "Session") -> None:
        from variegate.cli.trying import Screen

        self.session = session
        self.screen = Screen(console, session)
        # Over a pipe nobody sees what is typed: then it is printed, so that the text reads well.
        self.echoes = not sys.stdin.isatty()

    def hold(self) -> None:
        """Ask and learn until the person is done, the items are, or there is no more to read."""
        self.screen.greet(HELP)
        with suppress(KeyboardInterrupt):
            while not self.session.is_over:
                picks = self._asked()
                if picks is None:
                    break
                self.session.answer(picks)
                self.screen.show_learnt()
        self.screen.show_summary()

    def _asked(self) -> tuple[int, ...] | None:
        """Show the list and return the picks, or None where there are no more to come."""
        from variegate.demo import Wish, read_answer
        from variegate.errors import InputError

        self.screen.show_slate()
        while (line := self._line()) is not None:
            try:
                answer = read_answer(line, len(self.session.slate()))
            except InputError as error:
                self.screen.note(str(error))
                continue
            if answer.wish is Wish.PICK:
                return answer.picks
            if answer.wish is Wish.QUIT:
                return None
            if answer.wish is Wish.WHY:
                self.screen.show_why()
            else:
                self.screen.note(HELP)
        return None

    def _line(self) -> str | None:
        try:
            # The prompt is for `input` to print, so that editing the line leaves it alone.
            line = input("Your picks: ")
        except EOFError:
            self.screen.end_line()
            return None
        if self.echoes:
            self.screen.note(line)
        return line
