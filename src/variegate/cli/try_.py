"""`variegate try`: in the terminal you are the user."""

import sys
from contextlib import suppress
from math import isnan
from typing import TYPE_CHECKING, Any, Final

import click

from variegate.cli.output import one_line, plain_table, say, shortened

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from variegate.demo import Belief, Session
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
    from variegate.cli.output import plain_console
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
    from variegate.policies import POLICIES, PolicySpec, parse_policy, policy_options

    spec = parse_policy(text)
    known = policy_options(spec.name) if spec.name in POLICIES else {}
    own: dict[str, Any] = {"ridge": RIDGE} if "ridge" in known else {}
    if spec.name == "lmdh":
        own["exploration"] = EXPLORATION
    return PolicySpec(spec.name, {**own, **spec.options, **given})(items)


class Conversation:
    """A session in a terminal, or over a pipe."""

    def __init__(self, console: "Console", session: "Session") -> None:

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


#: Up to so many distances have a column each under `why`; more are summed.
MOST_COLUMNS: Final = 4
#: Letters of the name of an attribute or a distance.
LONGEST_NAME: Final = 10
#: Columns of the screen below which less is said, and from which on more.
NARROW: Final = 78
WIDE: Final = 100
#: Picks named in the end.
MOST_TITLES: Final = 12


class Screen:
    """Prints a session: lists, reasons, what was learnt."""

    def __init__(self, console: "Console", session: "Session") -> None:
        from variegate.demo import shown_attributes, typical_distances

        self.console, self.session = console, session
        self._attributes = shown_attributes(session.catalogue)
        self._typical = typical_distances(session.catalogue)
        self._is_wide = console.width >= WIDE

    def greet(self, help_text: str) -> None:
        """Say what there is and what to do."""
        policy = self.session.policy
        say(self.console, f"{len(policy.catalogue):,} items, {policy.label}. You are the user.")
        self.console.print(help_text, style="dim")

    def note(self, text: str) -> None:
        """Print a line of talk."""
        say(self.console, text)

    def end_line(self) -> None:
        """End the line of a prompt that was not answered."""
        self.console.print()

    def show_slate(self) -> None:
        """Print the list that waits for an answer."""
        from rich.table import Table

        from variegate.demo import new_in

        catalogue, slate = self.session.catalogue, self.session.slate()
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column("", justify="right", style="bold", no_wrap=True)
        for name in ("", *self._attributes):
            table.add_column(shortened(name, LONGEST_NAME))
        table.add_column("new in", style="dim")
        columns = [self._cells(name) for name in self._attributes]
        new = new_in(catalogue, slate.items, self._typical, most=1 + self._is_wide)
        for place, row in enumerate(slate.items):
            table.add_row(
                str(place + 1),
                one_line(catalogue.titles[row]),
                *(column[place] for column in columns),
                ", ".join(shortened(name, LONGEST_NAME) for name in new[place]),
            )
        self.console.print(f"\nList {len(self.session.turns) + 1}", style="bold")
        self.console.print(table)

    def show_why(self) -> None:
        """Print the parts that each item's score is the sum of."""
        slate, catalogue = self.session.slate(), self.session.catalogue
        why = self.session.policy.explain(slate)
        names, parts = (
            [shortened(name, LONGEST_NAME) for name in why.diversity_names],
            why.diversity,
        )
        if len(names) > MOST_COLUMNS or self.console.width < NARROW:
            names, parts = ["variety"], parts.sum(axis=1, keepdims=True)
        numbers = ("itself", *names, "curiosity", "score")
        table = plain_table("#", "", *numbers, right=("#", *numbers))
        left = self.console.width - sum(max(len(name), 5) + 2 for name in numbers) - 4
        for place, row in enumerate(slate.items):
            shown = (why.relevance[place], *parts[place], why.exploration[place])
            table.add_row(
                str(place + 1),
                shortened(catalogue.titles[row], left),
                *map(_signed, shown),
                _signed(slate.scores[place]),
            )
        self.console.print(table)
        note = "itself: what it is. " + (f"{', '.join(names)}: what it adds. " if names else "")
        self.console.print(f"{note}curiosity: how little is known of it.", style="dim")

    def show_learnt(self) -> None:
        """Print what the last answer led to."""
        turn = self.session.turns[-1]
        self.console.print(f"\nPicked {turn.hits} of {len(turn.slate)}.", style="bold", end=" ")
        self._show_hits()
        self._show_taste()
        self._show_variety()

    def show_summary(self) -> None:
        """Print how it went, in the end."""
        session = self.session
        if not session.turns:
            self.console.print("\nNothing was answered, so nothing was learnt.")
            return
        shown = sum(len(turn.slate) for turn in session.turns)
        over = " That was all there is." if session.is_over else ""
        self.console.print(
            f"\nDone: {sum(session.hits)} picks of {shown} shown.{over}", style="bold", end=" "
        )
        self._show_hits()
        if session.picked:
            titles = [one_line(session.catalogue.titles[row]) for row in session.picked]
            more = len(titles) - MOST_TITLES
            last = f" and {more} more" if more > 0 else ""
            self.console.print(f"You picked {', '.join(titles[:MOST_TITLES])}{last}.")
        self._show_taste()
        self._show_variety()

    def _show_hits(self) -> None:
        self.console.print(f"By list: {' '.join(map(str, self.session.hits))}", style="dim")

    def _show_taste(self) -> None:
        from variegate.demo import taste_of

        taste = taste_of(self.session.policy)
        groups = (
            ("you like", taste.likes),
            ("you pass by", taste.avoids),
            ("perhaps", taste.leans),
        )
        for heading, beliefs in groups:
            if beliefs:
                self._row(heading, _said(beliefs))
        if taste.is_empty:
            self._row("taste", "nothing to say of it yet")

    def _show_variety(self) -> None:
        from variegate.demo import varieties, wish_in_words

        found = varieties(self.session)
        if not found:
            return
        numbers = () if self.console.width < NARROW else ("picked", "passed")
        headings = ("your picks", "it thinks you want", *([""] if numbers else []))
        table = plain_table("variety of", *numbers, *headings, right=numbers)
        for variety in found:
            belief = variety.belief
            request = wish_in_words(belief)
            cells = [shortened(variety.name, LONGEST_NAME), variety.contrast.value, request]
            if numbers:
                cells[1:1] = [_number(variety.picked), _number(variety.passed)]
                cells.append(f"{_signed(belief.weight)} ± {belief.half_width:.2f}")
            table.add_row(*cells)
        self.console.print(table)
        least = self.session.policy.diversity_floor
        if least > 0:
            self.console.print(
                f"Lists count each for at least {_signed(least)}, whatever was learnt.", style="dim"
            )

    def _row(self, heading: str, text: str) -> None:
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", min_width=11)
        table.add_column()
        table.add_row(heading, text)
        self.console.print(table)

    def _cells(self, name: str) -> "list[Text]":
        """Return an attribute's values down the list; what was there above is dim."""
        from rich.text import Text

        from variegate.demo import in_short

        values, above, cells = self.session.catalogue.attributes[name], set[str](), []
        for row in self.session.slate().items:
            labels = [one_line(label) for label in in_short(values[row], most=2 + self._is_wide)]
            styled = [Text(label, style="dim" if label in above else "") for label in labels]
            cells.append(Text(", ").join(styled))
            above.update(labels)
        return cells


def _said(beliefs: "tuple[Belief, ...]") -> str:
    from variegate.model.encoder import format_weights

    return one_line(format_weights((belief.name, belief.weight) for belief in beliefs))


def _number(mean: float) -> str:
    return "-" if isnan(mean) else f"{mean:.2f}"


def _signed(number: float) -> str:
    return f"{round(number, 2) + 0.0:+.2f}"  # 0 is added so that nothing is -0.00
