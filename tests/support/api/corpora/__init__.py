"""Input that the API must reject, as text files.

Each line is a JSON value; the heading above it is the expected result.
"""

from collections.abc import Iterator
from pathlib import Path

from django.apps import apps


def lines_of(name: str) -> Iterator[tuple[list[str], str]]:
    """Yield the heading's words and the JSON text for each line of a file. Comments are left out."""
    heading: list[str] = []
    for line in (Path(__file__).parent / name).read_text().splitlines():
        if line.startswith("== "):
            heading = line.split()[1:]
        elif line and not line.startswith("%"):
            yield heading, line


def row_counts() -> dict[str, int]:
    """Return the number of rows in each table of the product."""
    ours = ("chains", "merchants", "webhooks", "payments")
    return {
        model._meta.label: model._default_manager.count()
        for model in apps.get_models()
        if model._meta.app_label in ours
    }
