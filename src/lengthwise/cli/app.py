"""The command's verbs put together, and the one place where errors become exit codes."""

from __future__ import annotations

import os
import sys

import typer

from lengthwise.cli.certify import certify
from lengthwise.cli.language import language
from lengthwise.cli.listing import list_everything
from lengthwise.cli.othello import othello
from lengthwise.cli.report import report
from lengthwise.cli.reproduce import reproduce
from lengthwise.cli.run import run
from lengthwise.cli.search import search
from lengthwise.errors import InputError

# Newer releases of typer carry a click of their own, so that the class is found through typer.
CommandError: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")

app = typer.Typer(name="lengthwise", add_completion=False, pretty_exceptions_enable=False)
app.command()(reproduce)
app.command()(run)
app.command()(search)
app.command()(certify)
app.command()(language)
app.add_typer(othello)
app.command()(report)
app.command("list")(list_everything)


@app.callback(invoke_without_command=True)
def lengthwise(context: typer.Context) -> None:
    """Will a transformer work at lengths it was not trained on, and which training choices make it?"""
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(2)


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit: 0 done, 1 a checked claim does not hold, 2 wrong input, 130 interrupted."""
    try:
        code = app(arguments, standalone_mode=False)
    except InputError as error:
        code = _complain(str(error))
    except CommandError as error:
        code = _complain(error.format_message())  # pyright: ignore[reportAttributeAccessIssue]
    except (KeyboardInterrupt, typer.Abort):
        print("lengthwise: interrupted", file=sys.stderr)
        code = 130
    except BrokenPipeError:  # the reader of our output is gone, as in `lengthwise list | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str) -> int:
    print(f"lengthwise: {' '.join(message.split())}", file=sys.stderr)
    return 2
