"""`variegate try`: be the user, in the terminal."""

import sys
from contextlib import suppress
from math import isnan
from typing import TYPE_CHECKING, Any, Final

import click

from variegate import demo
from variegate.cli.output import one_line, plain_console, plain_table, say, shortened
from variegate.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from variegate.model.catalogue import Catalogue
    from variegate.policies import Policy

#: On feature vectors of norm up to 1, such as those of the bundled films, the paper's 50 outweighs
#: dozens of lists, and picks would have no visible effect.
RIDGE: Final = 1.0
#: 27 simulated users found on average 39.9 films they liked in six lists of ten with 0.1 and
#: with 0.3, and 38.1 with 1.
EXPLORATION: Final = 0.3

HELP: Final = """\
Type the numbers of the items you would pick, such as 1 4 9 or 1,4,9, and Enter.
Enter alone: none of them.  w: why these?  ?: this help.  q: quit.
Nothing is shown twice. "new in": far from every item above it.
After each list you see what was learnt: + for what you pick, - for what you
skip, "perhaps" where the interval includes 0; and the mean distance to the
items above, for the items that you picked and for those that you skipped."""


@click.command("try")
@click.option("--catalogue", metavar="FILE", help="Of `variegate build`.  [default: the films]")
@click.option("--policy", default="lmdp", show_default=True, help="Policy that recommends.")
@click.option("--k", default=10, show_default=True, help="Items per list.")
@click.option("--seed", default=0, show_default=True, help="Random seed, for stochastic policies.")
@click.option("--ridge", type=float, help=f"Ridge weight, for lmdh.  [default: {RIDGE:g}]")
@click.option(
    "--exploration",
    type=float,
    help=f"Exploration; 0 is none.  [default: the policy's, {EXPLORATION:g} for lmdh]",
)
def try_(
    catalogue: str | None,
    policy: str,
    k: int,
    seed: int,
    ridge: float | None,
    exploration: float | None,
) -> None:
    """Be the user: pick from lists, and watch what is learnt.

    Each list has ten films, or items of any catalogue. Type the numbers of the items you would
    pick; the policy learns what you like and how varied a list you want, and prints it. Picks
    can come from a pipe, one line per list.

    \b
    Examples:
        variegate try
        variegate try --catalogue shop.npz --k 5
        variegate try --policy lmdh
        printf '1 4\\n2\\n\\n' | variegate try --policy c2ucb
    """
    from variegate.data.films import film_catalogue
    from variegate.model.catalogue import Catalogue

    console = plain_console()
    given = {"ridge": ridge, "exploration": exploration}
    options = {name: value for name, value in given.items() if value is not None}
    with console.status("Opening the catalogue"):
        items = film_catalogue() if catalogue is None else Catalogue.load(catalogue)
        session = demo.Session(_policy(policy, items, options), k=k, rng=seed)
        session.slate()  # compiles the kernels
    # A pipe may contain any bytes: invalid ones are an invalid answer, not the end.
    with suppress(AttributeError):
        sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    Conversation(console, session).run()


def _policy(text: str, items: "Catalogue", given: dict[str, float]) -> "Policy":
    from variegate.policies import POLICIES, PolicySpec, parse_policy, policy_options

    spec = parse_policy(text)
    known = policy_options(spec.name) if spec.name in POLICIES else {}
    own: dict[str, Any] = {"ridge": RIDGE} if "ridge" in known else {}
    if spec.name == "lmdh":
        own["exploration"] = EXPLORATION
    return PolicySpec(spec.name, {**own, **spec.options, **given})(items)


class Conversation:
    """A session in a terminal or over a pipe."""

    def __init__(self, console: "Console", session: "demo.Session") -> None:

        self.session = session
        self.screen = Screen(console, session)
        # Input from a pipe is not visible: print it.
        self.echoes = not sys.stdin.isatty()

    def run(self) -> None:
        """Show lists and learn until the user quits, the items are used up, or the input ends."""
        self.screen.greet(HELP)
        with suppress(KeyboardInterrupt):
            while not self.session.is_over:
                picks = self._ask()
                if picks is None:
                    break
                self.session.answer(picks)
                self.screen.show_learnt()
        self.screen.show_summary()

    def _ask(self) -> tuple[int, ...] | None:
        """Show the list and return the picks, or None at the end."""
        self.screen.show_slate()
        while (line := self._line()) is not None:
            try:
                answer = demo.parse_answer(line, len(self.session.slate()))
            except InputError as error:
                self.screen.note(str(error))
                continue
            if answer.command is demo.Command.PICK:
                return answer.picks
            if answer.command is demo.Command.QUIT:
                return None
            if answer.command is demo.Command.WHY:
                self.screen.show_why()
            else:
                self.screen.note(HELP)
        return None

    def _line(self) -> str | None:
        try:
            # `input` prints the prompt, so that editing the line keeps it.
            line = input("Your picks: ")
        except EOFError:
            self.screen.end_line()
            return None
        if self.echoes:
            self.screen.note(line)
        return line


#: With more distances than this, `why` shows their sum.
MAX_COLUMNS: Final = 4
#: Maximum length of the name of an attribute or a distance.
MAX_NAME: Final = 10
#: Screens narrower than this show less, wider ones more.
NARROW: Final = 78
WIDE: Final = 100
#: Maximum number of picks in the summary.
MAX_TITLES: Final = 12


class Screen:
    """Prints a session: lists, explanations, what was learnt."""

    def __init__(self, console: "Console", session: "demo.Session") -> None:

        self.console, self.session = console, session
        self._attributes = demo.shown_attributes(session.catalogue)
        self._typical = demo.typical_distances(session.catalogue)
        self._is_wide = console.width >= WIDE

    def greet(self, help_text: str) -> None:
        """Print an introduction."""
        policy = self.session.policy
        say(self.console, f"{len(policy.catalogue):,} items, {policy.label}. You are the user.")
        self.console.print(help_text, style="dim")

    def note(self, text: str) -> None:
        """Print a message."""
        say(self.console, text)

    def end_line(self) -> None:
        """End the line of an unanswered prompt."""
        self.console.print()

    def show_slate(self) -> None:
        """Print the current list."""
        from rich.table import Table

        catalogue, slate = self.session.catalogue, self.session.slate()
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column("", justify="right", style="bold", no_wrap=True)
        for name in ("", *self._attributes):
            table.add_column(shortened(name, MAX_NAME))
        table.add_column("new in", style="dim")
        columns = [self._cells(name) for name in self._attributes]
        new = demo.distinguishing_distances(
            catalogue, slate.items, self._typical, max_names=1 + self._is_wide
        )
        for place, row in enumerate(slate.items):
            table.add_row(
                str(place + 1),
                one_line(catalogue.titles[row]),
                *(column[place] for column in columns),
                ", ".join(shortened(name, MAX_NAME) for name in new[place]),
            )
        self.console.print(f"\nList {len(self.session.turns) + 1}", style="bold")
        self.console.print(table)

    def show_why(self) -> None:
        """Print the terms of each item's score."""
        slate, catalogue = self.session.slate(), self.session.catalogue
        why = self.session.policy.explain(slate)
        names, parts = (
            [shortened(name, MAX_NAME) for name in why.diversity_names],
            why.diversity,
        )
        if len(names) > MAX_COLUMNS or self.console.width < NARROW:
            names, parts = ["diversity"], parts.sum(axis=1, keepdims=True)
        numbers = ("relevance", *names, "exploration", "score")
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
        self.console.print("The score is the sum of the other columns.", style="dim")

    def show_learnt(self) -> None:
        """Print what was learnt from the last answer."""
        turn = self.session.turns[-1]
        self.console.print(f"\nPicked {turn.hits} of {len(turn.slate)}.", style="bold", end=" ")
        self._show_hits()
        self._show_taste()
        self._show_variety()

    def show_summary(self) -> None:
        """Print a summary of the session."""
        session = self.session
        if not session.turns:
            self.console.print("\nNo list was answered, so nothing was learnt.")
            return
        shown = sum(len(turn.slate) for turn in session.turns)
        over = " All items were shown." if session.is_over else ""
        self.console.print(
            f"\nDone: {sum(session.hits)} picks of {shown} shown.{over}", style="bold", end=" "
        )
        self._show_hits()
        if session.picked:
            titles = [one_line(session.catalogue.titles[row]) for row in session.picked]
            more = len(titles) - MAX_TITLES
            last = f" and {more} more" if more > 0 else ""
            self.console.print(f"You picked {', '.join(titles[:MAX_TITLES])}{last}.")
        self._show_taste()
        self._show_variety()

    def _show_hits(self) -> None:
        self.console.print(f"By list: {' '.join(map(str, self.session.hits))}", style="dim")

    def _show_taste(self) -> None:

        taste = demo.learnt_taste(self.session.policy)
        groups = (
            ("you like", taste.likes),
            ("you skip", taste.avoids),
            ("perhaps", taste.leans),
        )
        for heading, beliefs in groups:
            if beliefs:
                self._row(heading, _weights_in_words(beliefs))
        if taste.is_empty:
            self._row("likes", "nothing learnt yet")

    def _show_variety(self) -> None:

        found = demo.diversity_evidence(self.session)
        if not found:
            return
        total = demo.learnt_total_diversity(self.session.policy)
        self._row("variety", demo.describe_total_diversity(total))
        numbers = () if self.console.width < NARROW else ("picked", "skipped")
        headings = ("your picks", "learnt diversity", *(["weight"] if numbers else []))
        table = plain_table("diversity of", *numbers, *headings, right=numbers)
        if numbers:
            table.add_row(
                "all", "", "", "", "", f"{_signed(total.weight)} ± {total.half_width:.2f}"
            )
        for variety in found:
            belief = variety.weight
            learnt = demo.describe_diversity_weight(belief)
            cells = [shortened(variety.name, MAX_NAME), variety.contrast.value, learnt]
            if numbers:
                cells[1:1] = [_number(variety.picked), _number(variety.passed)]
                cells.append(f"{_signed(belief.weight)} ± {belief.half_width:.2f}")
            table.add_row(*cells)
        self.console.print(table)
        floor = self.session.policy.diversity_floor
        if floor > 0:
            self.console.print(
                f"The policy uses a weight of at least {_signed(floor)} for each.", style="dim"
            )

    def _row(self, heading: str, text: str) -> None:
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", min_width=11)
        table.add_column()
        table.add_row(heading, text)
        self.console.print(table)

    def _cells(self, name: str) -> "list[Text]":
        """Return an attribute's values down the list; labels seen above are dim."""
        from rich.text import Text

        values, above, cells = self.session.catalogue.attributes[name], set[str](), []
        for row in self.session.slate().items:
            labels = [
                one_line(label)
                for label in demo.short_values(values[row], max_values=2 + self._is_wide)
            ]
            styled = [Text(label, style="dim" if label in above else "") for label in labels]
            cells.append(Text(", ").join(styled))
            above.update(labels)
        return cells


def _weights_in_words(beliefs: "tuple[demo.WeightEstimate, ...]") -> str:
    from variegate.model.utility import format_weights

    return one_line(format_weights((belief.name, belief.weight) for belief in beliefs))


def _number(mean: float) -> str:
    return "-" if isnan(mean) else f"{mean:.2f}"


def _signed(number: float) -> str:
    return f"{round(number, 2) + 0.0:+.2f}"  # adding 0 avoids -0.00
