"""Print results as text, or as JSON for programs."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from quittance.objects import ApiObject


class Output:
    """Writes results to the standard output and notes to the standard error. Each line is written immediately."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    def result(self, answer: ApiObject | dict[str, Any], lines: Iterable[str]) -> None:
        """Print one result: as `lines`, or as JSON."""
        if self.as_json:
            self.json(answer.to_dict() if isinstance(answer, ApiObject) else answer)
        else:
            for line in lines:
                print(line, flush=True)

    def table(
        self, headings: Sequence[str], rows: Iterable[tuple[ApiObject, Sequence[str]]], empty: str
    ) -> None:
        """Print a list: in aligned columns, or as one JSON object per line."""
        if self.as_json:
            for answer, _ in rows:
                self.json(answer.to_dict())
            return
        cells = [row for _, row in rows]
        if not cells:
            self.remark(empty)
            return
        widths = [max(len(row[column]) for row in (headings, *cells)) for column in range(len(headings))]
        for row in (headings, *cells):
            print(
                "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(),
                flush=True,
            )

    def json(self, value: Any) -> None:
        """Print one JSON value on its own line."""
        print(json.dumps(value, ensure_ascii=False), flush=True)

    def line(self, text: str) -> None:
        """Print a line, except in JSON mode."""
        if not self.as_json:
            print(text, flush=True)

    def remark(self, text: str) -> None:
        """Print a note to standard error."""
        print(text, file=sys.stderr, flush=True)
