"""The command line: `suture`, or `python -m suture`.

Each command is a module of this package with `add(commands)`, which declares its arguments, and a
function that carries it out and gives back the exit code.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

from suture.tools.cli import (
    cache,
    check,
    compare,
    diff,
    doctor,
    explain,
    minify,
    registry,
    report,
    rules,
    run,
    site,
)
from suture.tools.cli.common import USAGE, UsageError, err, nearest
from suture.version import VERSION

_EPILOG = """\
exit codes:
  0  done, and nothing to complain about
  1  done, and something was found: a finding, a problem, a difference for the worse
  2  the command could not be carried out: bad arguments, unknown names, unreadable files
  `suture run` ends with the exit code of the script.
"""

COMMANDS = (
    run,
    explain,
    compare,
    check,
    diff,
    report,
    registry,
    rules,
    minify,
    cache,
    site,
    doctor,
)


class _Parser(argparse.ArgumentParser):
    """Answers an unknown command or option with the nearest ones."""

    def error(self, message: str) -> None:  # type: ignore[override]
        if "invalid choice: '" in message and self.prog == "suture":
            word = message.split("invalid choice: '")[1].split("'")[0]
            close = nearest(word, self.names())
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            message = f"there is no command {word!r}{hint} (suture --help lists them)"
        super().error(message)

    def refuse(self, unknown: list[str]) -> None:
        """End with what the command was given and does not know."""
        known = [option for action in self._actions for option in action.option_strings]
        close = nearest(unknown[0], known) if unknown[0].startswith("-") else []
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")

    def names(self) -> list[str]:
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return list(action.choices)
        return []


def parser() -> argparse.ArgumentParser:
    """All commands and their arguments."""
    made = _Parser(
        prog="suture",
        description="Graphs of PyTorch programs: run, explain, look up, check.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"suture {VERSION}")
    commands = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in COMMANDS:
        module.add(commands)
    for command in commands.choices.values():
        command.set_defaults(parser=command)
        for action in command._actions:  # a list that may be empty is not asked for
            if action.nargs in (argparse.ZERO_OR_MORE, argparse.REMAINDER):
                action.required = False
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out a command line; the result is the exit code."""
    arguments, unknown = parser().parse_known_args(argv)
    if unknown:
        arguments.parser.refuse(unknown)
    try:
        code = arguments.do(arguments)
        sys.stdout.flush()
    except UsageError as error:
        err().print(f"suture: {error}", style="red", markup=False, soft_wrap=True)
        return USAGE
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        err().print("suture: interrupted")
        return 128 + signal.SIGINT
    return int(code)
