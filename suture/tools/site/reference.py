"""Pages of the guide that are made: options from `config`, the API from docstrings."""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any

from suture import config, logs


def options() -> str:
    """Every option of `suture.config`, and every variable of the environment, as Markdown."""
    rows = "\n".join(
        f"| `{one.name}` | `{one.type.__name__}` | `{one.default!r}` |"
        f" {' '.join(f'`{name}`' for name in one.environment)} | {_cell(one.doc)} |"
        for one in config.describe()
    )
    topics = "\n".join(f"| `{name}` | {_cell(doc)} |" for name, doc in logs.TOPICS.items())
    return f"""# Options and environment variables

This page is made from `suture.config`. An option is set for a block (`with
suture.config.patch(name=value):`), by assignment (`suture.config.name = value`), or by the
environment before Python starts. A value of the wrong type, and a name that is none, is an error.

| option | type | default | environment | what it does |
| --- | --- | --- | --- | --- |
{rows}

`suture.config.describe()` gives the same as objects, with the present values.

## What is logged

`SUTURE_LOGS="breaks,recompiles"`, or `suture.set_logs("breaks,recompiles")`, turns topics on;
they are loggers of Python's `logging` named `suture.TOPIC`.

| topic | what it tells |
| --- | --- |
{topics}
"""


def api() -> str:
    """Every public name of the package with its signature and docstring, as Markdown."""
    parts = [
        "# API reference\n\nThis page is made from the docstrings. `help(suture.NAME)` prints the"
        " same.\n"
    ]
    package = sys.modules[__name__.partition(".")[0]]
    for name in package.__all__:
        value = getattr(package, name)
        doc = inspect.getdoc(value) or ""
        if inspect.ismodule(value):
            first = doc.strip().partition("\n\n")[0]
            members = ", ".join(f"`{one}`" for one in getattr(value, "__all__", ()))
            parts.append(
                f"## suture.{name}\n\n{first}\n" + (f"\nIn it: {members}.\n" * bool(members))
            )
            continue
        parts.append(f"## suture.{name}\n\n    {name}{_signature(value)}\n\n{doc}\n")
    return "\n".join(parts)


def _signature(value: Any) -> str:
    try:
        shown = str(inspect.signature(value))
    except (TypeError, ValueError):
        return "(...)"
    return re.sub(r"<[\w.]+ object at 0x[0-9a-f]+>|<object object[^>]*>", "...", shown)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
