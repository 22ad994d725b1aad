"""The `kcli` command: its groups, and the report of errors."""

from __future__ import annotations

import copy
import gc
import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click

from kcli.address_space import is_shortage
from kcli.cli.commands import COMMANDS, FRONT, GROUPS, HELP, QUESTIONS, loaded
from kcli.cli.terminal.lines import guard_streams, print_note
from kcli.cli.terminal.streams import STANDARD_OUTPUT, drop_output, mend_streams
from kcli.cli.termination import repeat_lost_interrupts, tidy_up_at_signals
from kcli.errors import INTERRUPTED, CoreMissingError, InputError, KcliError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Resolved = tuple[str | None, click.Command | None, list[str]]  # a command's name, the command, and its arguments
UNBROKEN = "\u2011"  # NON-BREAKING HYPHEN


class HelpFormatter(click.HelpFormatter):
    """Breaks lines between words. click also breaks them behind a hyphen: "--slower-" and "than"."""

    def write(self, string: str) -> None:
        super().write(string.replace(UNBROKEN, "-"))

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", UNBROKEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(term, text.replace("-", UNBROKEN)) for term, text in rows], col_max, col_spacing)


class HelpContext(click.Context):
    """A command's context, whose help has whole words."""

    formatter_class = HelpFormatter


class LazyGroup(click.Group):
    """A group whose commands are named in a table and imported on first use."""

    subjects = "command"
    context_class = HelpContext

    def __init__(self, table: Mapping[str, str | Mapping[str, str]], path: str = "", **attributes: object) -> None:
        super().__init__(**attributes)  # type: ignore[arg-type]
        self.table, self.path = table, path

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        target = self.table.get(cmd_name)
        if target is None:
            return None
        if isinstance(target, str):
            command = command_of(target)
            if ctx.resilient_parsing:  # a shell asks for completions
                from kcli.cli.completion import teach

                teach(command)
            return command
        made = DecodeGroup if cmd_name == "decode" else LazyGroup
        return made(target, f"{cmd_name} ", name=cmd_name, help=HELP[cmd_name], no_args_is_help=True)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, HELP[self.path + name]) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        items = [CompletionItem(name, help=HELP[self.path + name]) for name in names]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Resolved:
        if args and args[0] not in self.table and not args[0].startswith("-"):
            from kcli.cli.suggestions import suggestion

            message = suggestion(args[0], self.table, takes_files="file" in self.subjects)
            ctx.fail(f"{args[0]}: no such {self.subjects}{message}")
        return super().resolve_command(ctx, args)


def is_input(word: str) -> bool:
    return word == "-" or os.path.lexists(word)


class DecodeGroup(LazyGroup):
    """`kcli decode`: where no command is named, the kind of the first file chooses it, wherever that file stands."""

    subjects = "command or file"

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] FILE...", prefix="Usage: ")
        formatter.write_usage(ctx.command_path, "COMMAND [ARGS]...", prefix="       ")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the arguments apart."""
        named = bool(args) and (args[0] in self.table or args[0] in ctx.help_option_names)
        if named or not any(map(is_input, args)):
            return super().parse_args(ctx, args)
        from kcli.cli.decode.choice import target_of

        ctx.obj, words = target_of(args)
        return super().parse_args(ctx, ["FILE", *words, *args])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Resolved:
        if ctx.obj is not None:
            return "FILE", of_file(command_of(ctx.obj)), args[1:]
        return super().resolve_command(ctx, args)


class Root(LazyGroup):
    """`kcli` itself: a file's name opens the front door, as the first word or behind options of `kcli FILE`."""

    subjects = "command or file"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the arguments apart."""
        ctx.obj = self.front_words(ctx, args)
        return super().parse_args(ctx, args if ctx.obj is None else ["FILE", *ctx.obj])

    def front_words(self, ctx: click.Context, args: list[str]) -> list[str] | None:
        """Return the arguments of `kcli FILE`; None where a command is named, or nothing that is there."""
        if not args or args[0] in self.table:
            return None
        if is_input(args[0]) and (args[0] == "-" or not args[0].startswith("-")):
            return args
        own = {name for each in self.get_params(ctx) for name in each.opts}
        named = not args[0].startswith("-") or args[0] in own or any(each in self.table for each in args)
        return None if named or not any(map(is_input, args)) else args

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage("kcli", "FILE...", prefix="Usage: ")
        formatter.write_usage("kcli", "COMMAND [ARGS]...", prefix="       ")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, HELP[name]) for name in names if name in self.table])
        with formatter.section("Questions"):
            write_questions(formatter)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Resolved:
        if args[0] == "help":
            words = args[1:]
            return self.resolve_command(ctx, [*words, "--help"]) if words else ("help", HELP_COMMAND, [])
        if ctx.obj is not None:
            return "FILE", of_file(command_of(FRONT)), args[1:]
        return super().resolve_command(ctx, args)


def write_questions(formatter: click.HelpFormatter) -> None:
    """Write common questions, and the command that answers each, on one line so that it can be pasted."""
    indent = " " * formatter.current_indent
    size = max(map(len, QUESTIONS)) + 2
    if len(indent) + size + max(map(len, QUESTIONS.values())) <= formatter.width:
        formatter.write_dl(list(QUESTIONS.items()))
        return
    for question, command in QUESTIONS.items():
        formatter.write(f"{indent}{question}\n{indent}  {command}\n")


def command_of(target: str) -> click.Command:
    """Import a command, whose help has whole words."""
    command = loaded(target)
    command.context_class = HelpContext
    return command


def of_file(command: click.Command) -> click.Command:
    """Return the command under the name of its file argument, so that its usage lists files once."""

    def format_usage(ctx: click.Context, formatter: click.HelpFormatter) -> None:
        *options, files = made.collect_usage_pieces(ctx)
        path = "" if ctx.parent is None else ctx.parent.command_path
        formatter.write_usage(path, " ".join([files, *options]))

    made = copy.copy(command)
    made.format_usage = format_usage  # type: ignore[method-assign]
    return made


def print_help() -> None:
    """Print the help of `kcli` itself."""
    context = click.get_current_context().parent
    assert context is not None
    click.echo(context.get_help())


HELP_COMMAND = click.Command("help", callback=print_help)


def print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    import kcli.core  # noqa: F401  # an error if it was not built
    from kcli import __version__

    click.echo(f"kcli {__version__} (compiled core)")
    ctx.exit()


cli = Root(
    COMMANDS,
    name="kcli",
    help="Decode the bytes of Apache Kafka. `kcli FILE...` shows what a file contains, what is wrong, and the "
    "next commands.",
    no_args_is_help=True,
    params=[
        click.Option(
            ["-V", "--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=print_version,
            help="Print the version; fail if the compiled core is not built.",
        )
    ],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def complain(error: BaseException | str) -> None:
    """Print one line on stderr, as every kcli error, after what was written on standard output."""
    end_output()
    print_note(f"kcli: {error}")


def end_output() -> None:
    """Flush standard output. If it can't be written, print why, and drop it, so that the interpreter's own last flush
    raises nothing.
    """
    try:
        sys.stdout.flush()
    except ValueError:  # it is closed
        pass
    except OSError as error:
        drop_output()
        if not isinstance(error, BrokenPipeError):
            print_note(f"kcli: {named_reason(error)}")


def usage_text(error: click.ClickException, argv: list[str]) -> str:
    """Return a usage error in one line, with the command that was probably meant, or the help to read."""
    meant = meant_by(argv, error)
    if meant and isinstance(error, click.NoSuchOption):
        return f"No such option '{error.option_name}'{meant}"
    context = getattr(error, "ctx", None)
    hint = f" (see `{context.command_path} --help`)" if context else ""
    return f"{text_of(error)}{meant or hint}"


def meant_by(argv: list[str], error: BaseException) -> str:
    """Return the end of an error message, with the command that was probably meant; "" if it is unknown."""
    from kcli.cli.meant import meant_command

    meant = meant_command(argv, error)
    return f"; did you mean: {meant}" if meant else ""


def text_of(error: click.ClickException) -> str:
    """Return a usage error in one line."""
    text = error.format_message()
    # click prints the choices of a missing value below each other
    return " ".join(text.split()) if isinstance(error, click.MissingParameter) else text


def failed(error: OSError, argv: list[str]) -> int:
    """Return the exit code for a file or stream that can't be read or written."""
    if isinstance(error, BrokenPipeError):
        drop_output()  # the reader has gone (`| head`): end quietly
        return 0
    if error.filename == STANDARD_OUTPUT:
        drop_output()
    complain(f"{named_reason(error)}{meant_by(argv, error)}")
    return InputError.exit_code


def named_reason(error: OSError) -> str:
    """Return the reason of an error, after the name of its file."""
    named = f"{error.filename or repr('')}: " if error.filename is not None else ""
    return f"{named}{error.strerror}" if error.strerror else str(error)


def run(argv: list[str]) -> object:
    """Run a command and return its result. Not `cli.main`: that exits on its own for a closed pipe or Ctrl-C."""
    if "_KCLI_COMPLETE" in os.environ:
        return cli.main(argv, prog_name="kcli")
    try:
        with cli.make_context("kcli", list(argv)) as context:
            return cli.invoke(context)
    except click.exceptions.NoArgsIsHelpError as asked:
        asked.show()
        return 2
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except ImportError as error:
        if (error.name or "").startswith("kcli.core.") and not is_shortage(error):
            raise CoreMissingError("not that of these sources") from None
        raise


def is_interrupt(error: BaseException) -> bool:
    """Return whether an interrupt is the cause, as when it came while Python made a class (`__set_name__`)."""
    cause = error.__cause__
    return isinstance(error, KeyboardInterrupt) or (cause is not None and is_interrupt(cause))


def main(argv: list[str] | None = None) -> int:
    """Run kcli. Returns its exit code: 0 done, 1 the answer is no, 2 usage, 3 bad input, 4 network, 130 interrupted.

    A bug still shows its traceback.
    """
    if argv is None:
        mend_streams()
        tidy_up_at_signals()
        repeat_lost_interrupts()
    unguard = guard_streams()
    words = sys.argv[1:] if argv is None else argv
    try:
        code = run(words)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except KcliError as error:
        complain(error)
        return error.exit_code
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        complain(usage_text(error, words))
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        return failed(error, words)
    except RecursionError:
        complain("the input is nested too deep")
        return InputError.exit_code
    except Exception as error:
        if is_interrupt(error):
            return INTERRUPTED
        if not is_shortage(error):
            raise
        complain("out of memory")
        return InputError.exit_code
    finally:
        if argv is not None:
            unguard()
        else:
            end_output()
            # The process ends now: a last garbage collection over all imported modules is of no use.
            gc.freeze()


if __name__ == "__main__":
    sys.exit(main())
