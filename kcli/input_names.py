"""Names of inputs in messages."""

STDIN = "-"
DELTA_LOG = "_delta_log"
RUNS_FOLDER = "_kcli"  # the pipeline's own folder among its tables

copies: dict[str, str] = {}  # temporary file -> name of the input that it copies


def name_of(file: str) -> str:
    """Return an input's name for messages: "standard input" for "-", the original's name for a temporary copy."""
    return "standard input" if file == STDIN else copies.get(file, file)


def unicode_name(file: str) -> str:
    r"""Return a file's name as Unicode, as columns of texts need it: \xNN for each byte that is not UTF-8."""
    return file.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def note_copy(copy: str, file: str) -> None:
    """Make messages name the input instead of its temporary copy."""
    copies[copy] = name_of(file)
