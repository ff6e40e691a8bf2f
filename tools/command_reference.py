"""The page of every command, made from the commands' own help: docs/reference/cli.md."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

_HEAD = """# Every command

Made from the commands' own `--help` by
`python -m tools.command_reference docs/reference/cli.md`, which `make docs` runs; a test
fails when it is stale. All commands come with `pip install '.[all]'` in the folder of the
repository. An error is one line on standard error, and exit code 1.
"""
_WIDTH = 90


def page() -> str:
    """Return the page as Markdown."""
    from variegate.cli import commands

    parts = [_HEAD]
    for name, text in helps(commands, "variegate"):
        parts.append(f"## {name}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def helps(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the help of a command and of those below it, in order of their names."""
    context = click.Context(
        command, info_name=name, terminal_width=_WIDTH, help_option_names=["-h", "--help"]
    )
    lines = command.get_help(context).splitlines()
    yield name, "\n".join(line.rstrip() for line in lines)
    if isinstance(command, click.Group):
        for own in sorted(command.commands):
            yield from helps(command.commands[own], f"{name} {own}")


def main() -> None:
    """Write the page to the path that was given, or to standard output."""
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(page(), encoding="utf-8")
    else:
        click.echo(page(), nl=False)


if __name__ == "__main__":
    main()
