"""Input that must be refused, as plain data: a line is a JSON value, a heading says what becomes of it."""

from collections.abc import Iterator
from pathlib import Path

from django.apps import apps


def lines_of(name: str) -> Iterator[tuple[list[str], str]]:
    """Yield the words of the heading and the JSON text of each line of a file here, its remarks left out."""
    heading: list[str] = []
    for line in (Path(__file__).parent / name).read_text().splitlines():
        if line.startswith("== "):
            heading = line.split()[1:]
        elif line and not line.startswith("%"):
            yield heading, line


def row_counts() -> dict[str, int]:
    """Return how many rows each table of the product has."""
    ours = ("chains", "merchants", "webhooks", "payments")
    return {
        model._meta.label: model._default_manager.count()
        for model in apps.get_models()
        if model._meta.app_label in ours
    }
