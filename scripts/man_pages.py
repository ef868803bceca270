"""Writes a manual page (troff) for farloop and one for each of its commands: man_pages.py FOLDER."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from farloop import _native
from farloop.commands.app import app
from farloop.commands.declarations import group_summaries


def pages() -> Iterator[tuple[str, str]]:
    """Names of the pages, such as "farloop-run", and their text."""
    root = get_command(app)
    yield "farloop", root_page(root)
    for words, command in sorted(commands(root)):
        yield "-".join(["farloop", *words]), command_page(words, command)


def commands(group: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*above, name))
        else:
            yield (*above, name), command


def root_page(root: Any) -> str:
    """The page of farloop: its commands in their groups."""
    lines = [*head("farloop", root.help), ".SH SYNOPSIS", ".B farloop", r"\fICOMMAND\fR [\fIOPTIONS\fR]"]
    for title, group in group_summaries().items():
        lines.append(f".SH {title.upper()}")
        for name, text in group.items():
            below = root.commands[name]
            words = [f"{name}-{own}" for own in below.commands] if hasattr(below, "commands") else [name]
            lines += [".TP", ", ".join(rf"\fBfarloop-{word}\fR(1)" for word in words), escaped(text)]
    return "\n".join(lines) + "\n"


def command_page(words: tuple[str, ...], command: Any) -> str:
    """The page of a command: what it does, its arguments and options, examples."""
    name = " ".join(["farloop", *words])
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    text = " ".join((command.help or "").split())
    called = " ".join(escaped(p.make_metavar(command.context_class(command))) for p in arguments)
    lines = [
        *head("-".join(["farloop", *words]), text),
        ".SH SYNOPSIS",
        rf"\fB{escaped(name)}\fR [\fIOPTIONS\fR] {called}".rstrip(),
    ]
    paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    lines += [".SH DESCRIPTION", "\n.PP\n".join(escaped(part) for part in paragraphs)]
    if arguments:
        lines.append(".SH ARGUMENTS")
        lines += [line for p in arguments for line in entry(p.make_metavar(command.context_class(command)), p.help)]
    lines.append(".SH OPTIONS")
    for option in options:
        value = "" if option.is_flag else rf" \fI{escaped(option.metavar or option.type.name.upper())}\fR"
        lines += [".TP", ", ".join(rf"\fB{escaped(o)}\fR" for o in option.opts) + value, escaped(option.help or "")]
    lines += [".TP", r"\fB\-\-help\fR", "Show a summary of this page and exit."]
    if own := (command.epilog or "").splitlines():
        lines += [".SH EXAMPLES", ".nf", *map(escaped, own), ".fi"]
    lines += [".SH SEE ALSO", r"\fBfarloop\fR(1)"]
    return "\n".join(lines) + "\n"


def head(name: str, text: str) -> list[str]:
    """The title line without a date, so that pages of one version are the same, and the section that indexes read."""
    sentence = re.split(r"(?<=[.:]) ", " ".join((text or "").split()))[0].rstrip(".:")
    return [
        f'.TH {name.upper()} 1 "" "farloop {_native.version()}"',
        ".SH NAME",
        rf"{escaped(name)} \- {escaped(sentence)}",
    ]


def entry(name: str, text: str | None) -> list[str]:
    """A paragraph with a hanging name."""
    return [".TP", rf"\fI{escaped(name)}\fR", escaped(" ".join((text or "").split()))]


def escaped(text: str) -> str:
    """A text as troff takes it: no control character at the start of a line, hyphens that can be copied."""
    plain = " ".join(text.split()) if "\n" in text else text
    plain = plain.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{plain}" if plain[:1] in (".", "'") else plain


def main() -> None:
    """Writes all pages into the folder."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/man")
    (folder / "man1").mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        (folder / "man1" / f"{name}.1").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
