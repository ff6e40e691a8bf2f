"""The `variegate` command; a clear message if its extra is not installed."""

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command line."""
    missing = [name for name in ("click", "rich") if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"variegate: the command line needs {' and '.join(missing)}: "
            "pip install 'variegate[cli]'\n"
        )
        sys.exit(1)
    from variegate.cli import commands

    commands()


if __name__ == "__main__":
    main()
