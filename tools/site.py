"""The pages of the site that are made from kcli's own tables: messages, errors, rules. A hook of mkdocs.yml.

`make docs` builds the site into build/site; nothing of these pages is kept in docs/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kcli.cli.schema.doc import document, text_of
from kcli.cli.schema.views import provenance
from kcli.diagnose import Finding, diagnose
from kcli.rules import RULES
from kcli.rules.rule import Rule
from kcli.schemas import errors
from kcli.schemas.catalog import catalog
from kcli.schemas.lookup import Catalog
from kcli.schemas.model import Api, Message
from kcli.schemas.vectors.diagram import LEGEND

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ITEM = re.compile(r"(- |[0-9]+\. )")
CAPTURES = Path(__file__).resolve().parents[1] / "tests" / "diagnose" / "data"
ASSETS = Path(__file__).parent / "site_assets"
SHIM, WORKER = "https://unpkg.com/iframe-worker/shim", "assets/worker.js"
MESSAGES, RULES_PAGE = "reference/messages", "reference/rules.md"
ERRORS_PAGE = "reference/errors.md"
OTHERS = "errors-again"  # the rule of all other errors: it names those that it leaves out
# Who searches for a rule wants it before all else, and who asks in words not the messages whose names begin with one.
FIRST_FOUND = ("---", "search:", "  boost: 4", "---")
LAST_FOUND = ("---", "search:", "  boost: 0.3", "---")
OUTSIDE = (
    "https://github.com/kcli-kafka/kcli/blob/main/"  # files that docs/ points to and that are not part of the site
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    from mkdocs.structure.files import File

    for name, lines in pages():
        files.append(File.generated(config, name, content="\n".join(lines) + "\n"))
    files.append(File.generated(config, WORKER, content=(ASSETS / "worker.js").read_text("utf-8")))
    return files


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Let the search work offline: what lets its worker run from a folder comes with the site, not from the network."""
    return output.replace(SHIM, f"{'../' * page.url.count('/')}{WORKER}")


def on_post_template(output_content: str, **_: object) -> str:
    """Do the same for the page of errors (404), whose links begin at the root."""
    return output_content.replace(SHIM, f"/{WORKER}")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Let links to files outside of docs/ lead to the repository, and lists begin without an empty line before."""
    return "\n".join(lists_apart(markdown.replace("](../../", f"]({OUTSIDE}").splitlines()))


def lists_apart(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines with an empty one before each list that follows a paragraph, as this dialect of Markdown needs it."""
    before, fenced = "", False
    for line in lines:
        fenced ^= line.startswith("```")
        if ITEM.match(line) and before.strip() and not fenced and not ITEM.match(before) and before[0] != " ":
            yield ""
        yield line
        before = line


def pages() -> Iterator[tuple[str, Iterable[str]]]:
    """Yield each page's name and its lines of Markdown."""
    tables = catalog()
    yield f"{MESSAGES}/index.md", message_index(tables)
    for api in tables.apis.values():
        pair = [tables.message(name) for name in (api.request, api.response)]
        yield f"{MESSAGES}/{api.name}.md", message_page(tables, f"{api.name} (key {api.key})", pair)
    for name in others(tables):
        yield f"{MESSAGES}/{name}.md", message_page(tables, name, [tables.message(name)])
    yield RULES_PAGE, rules_page()
    yield ERRORS_PAGE, errors_page()


def others(tables: Catalog) -> list[str]:
    """Return the messages that are neither request nor response: headers, records, data in other fields."""
    paired = {name for api in tables.apis.values() for name in (api.request, api.response)}
    return sorted(set(tables.names) - paired)


def message_index(tables: Catalog) -> Iterator[str]:
    """Yield the page that leads to all messages."""
    yield "# Messages"
    yield ""
    yield f"Kafka's messages up to release {tables.releases[-1]}, as kcli reads and writes them: fields, what each"
    yield "version changed, bytes. `kcli schema doc NAME [VERSION]` prints these pages, for drafts too."
    yield ""
    yield "| key | API | versions | flexible | latest releases |"
    yield "| --- | --- | --- | --- | --- |"
    for key, api in tables.apis.items():
        yield f"| {key} | [{api.name}]({api.name}.md) | {ranges(api, tables.message(api.request))} |"
    yield ""
    yield "## Records and other data"
    yield ""
    yield "| message | kind | versions |"
    yield "| --- | --- | --- |"
    for name in others(tables):
        message = tables.message(name)
        yield f"| [{name}]({name}.md) | {message.kind} | {message.versions} |"


def ranges(api: Api, request: Message) -> str:
    """Return the cells of an API: its versions, since when it is flexible, who has which."""
    newest = f"{request.releases[-1]}: {request.releases[-1].versions}" if request.releases else ""
    return f"{request.versions} | {request.flexible} | {newest}"


def message_page(tables: Catalog, title: str, messages: Iterable[Message]) -> Iterator[str]:
    """Yield the page of an API, or of one message."""
    yield from LAST_FOUND
    yield f"# {title}"
    for message in messages:
        yield ""
        yield from (f"#{line}" if line.startswith("# ") else line for line in document(tables, message, None))
        for line in provenance(message):
            yield ""
            yield f"{line[0].upper()}{line[1:]}."
    yield ""
    yield LEGEND


def rules_page() -> Iterator[str]:
    """Yield the page of all rules of `kcli diagnose`, each with the capture that shows it."""
    shown = captured()
    yield from FIRST_FOUND
    yield "# Rules of diagnose"
    yield ""
    yield f"`kcli diagnose` looks for {len(RULES)} causes. What is said below each was found in the capture named, cut"
    yield "from one of real brokers (tests/diagnose/data); a rule without one is tested with exchanges made for it."
    yield "Words in braces are those of the case."
    for rule in sorted(RULES, key=lambda each: each.finding):
        yield ""
        yield f"## {rule.finding}"
        yield ""
        yield from rule_lines(rule, shown.get(rule.finding))


def errors_page() -> Iterator[str]:
    """Yield the page of all error codes, with the rules that speak of them."""
    yield "# Error codes"
    yield ""
    yield "Kafka's error codes by number and name, as kcli shows them; `kcli decode pcap FILE --errors` lists the"
    yield "answers that have one. Retriable: the same request may succeed later. A rule of `kcli diagnose` that looks"
    yield "for an error says whose fault it is and what to do."
    yield ""
    yield "| code | name | retriable | in earlier releases | rules |"
    yield "| --- | --- | --- | --- | --- |"
    for code, name, retriable, former in errors.rows:
        said = re.compile(rf"\b{name}\b")
        rules = (each.finding for each in RULES if each.finding != OTHERS and said.search(each.sql))
        links = ", ".join(f"[{each}]({Path(RULES_PAGE).name}#{each})" for each in sorted(rules))
        yield f"| {code} | {name} | {'yes' if retriable else ''} | {', '.join(former)} | {links} |"


def rule_lines(rule: Rule, example: tuple[str, Finding] | None) -> Iterator[str]:
    """Yield what is known of a rule."""
    yield f"{rule.title[0].upper()}{rule.title[1:]}. Severity: {rule.severity}."
    rows = {
        "What to do": rule.advice,
        "Ruled out first": rule.ruled_out,
        "Limits and figures from": rule.source,
        "Explains": ", ".join(rule.explains),
    }
    for title, text in rows.items():
        if text:
            yield ""
            yield f"**{title}**: {text_of(text)}"
    if example:
        name, finding = example
        yield ""
        yield f"**In {name}**: {text_of(finding.text)}"


def captures() -> list[Path]:
    """Return the captures that show rules."""
    return sorted(CAPTURES.glob("*.pcap.zst"))


def captured() -> dict[str, tuple[str, Finding]]:
    """Return, by its id, the first finding of each kind in the captures, and the capture's name."""
    found: dict[str, tuple[str, Finding]] = {}
    for path in captures():
        for each in diagnose([str(path)]).findings:
            found.setdefault(each.finding, (path.name.removesuffix(".zst"), each))
    return found
