"""Reject the listed words: `python -m tests.wording`. `make lint` runs this check.

The scope is every tracked text file outside `tests/`, except `NOT_READ`: code, docs, the English messages,
templates. CONTRIBUTING.md (Language) explains the rules.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

# Separators between the words of a phrase: spaces, and the marks of a comment's next line.
_GAP = r"(?:\s|\n\s*(?:#|//|\*)?\s*)+"


@dataclass(frozen=True)
class Rule:
    """Words to avoid, and what to write in their place."""

    pattern: str
    instead: str

    @property
    def compiled(self) -> re.Pattern[str]:
        # `told_by` is a hit, because underscores separate words. Letters and digits don't.
        body = self.pattern.replace(" ", _GAP)
        return re.compile(rf"(?<![A-Za-z0-9])(?:{body})(?![A-Za-z0-9])", re.IGNORECASE)


RULES = (
    Rule(r"told", "say what happens: sent, shown, returned, reported"),
    Rule(r"tell(?:s|ing)? of", "show, report, describe"),
    Rule(r"st(?:ands?|ood)(?!-in|-alone| out)", "is, are, means"),
    Rule(r"(?:some|no|any)body", "name who: the customer, the merchant, the worker, another request"),
    Rule(r"who(?:so)?ever", "anyone who, the customer who, any process that"),
    Rule(r"whom", "who; better: name the person"),
    Rule(r"anew", "again, a new one"),
    Rule(r"alike", "the same, equally, both"),
    Rule(r"whereabouts", "location, where it is"),
    Rule(r"lest", "so that … doesn't"),
    Rule(r"for want of", "without, because there is no"),
    Rule(r"b(?:ear|ears|ore|orne|earing) out", "confirm"),
    Rule(r"(?:leav(?:e|es|ing)|left)(?: \w+){0,2} alone", "skip, keep, don't change"),
    Rule(r"(?:become|becomes|became) of", "the result of, the status of"),
    Rule(r"(?:spec|contract) \d+(?:\.\d+)?", "a link to a page in docs/"),
    Rule(r"T-\d{1,2}", "a link to docs/threat-model.md#threat-N"),
)

# Tracked files that the check doesn't read.
NOT_READ = {
    "tests/*": "tests describe situations in their own names",
    "*.lock": "lock file",
    "*package-lock.json": "lock file",
    "requirements*.txt": "lock files of pip",
    "checkout/brotli/*": "built from checkout/frontend",
    "checkout/static/*": "built from checkout/frontend",
    "demo/wallet/dist/*": "built from demo/wallet",
    "demo/contracts/artifacts.json": "built from demo/contracts by contracts/build.js",
    "LICENSE": "legal text",
    "docs/images/*": "pictures",
}
# Words in messages of other languages can look like these.
_OTHER_LANGUAGES = re.compile(r"checkout/messages/(?!en\.json$)")

_LINK = re.compile(r"\[[^\]\n]*\]\([^)\n]*\)")
_TEST_LINK = re.compile(r"\[`test_\w+`\]\([^)\n]*\)")

# Places where a listed word may stay, by path and exact text, with the reason.
ALLOWED: dict[tuple[str, str], str] = {
    ("CONTRIBUTING.md", "told"): "lists the words",
    ("CONTRIBUTING.md", "somebody"): "lists the words",
    ("CONTRIBUTING.md", "anew"): "lists the words",
    ("demo/services/postgres.py", "nobody"): "the name of an operating system's user",
}


@dataclass(frozen=True)
class Hit:
    """A listed word in a file. Line 0 means the file's name."""

    path: str
    line: int
    words: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.words} (write: {self.instead})"


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def hits_in(path: str, text: str) -> Iterator[Hit]:
    """Yield each listed word in `text` and in the file's name."""
    # Pages link to tests by name, and test names are not checked.
    text = _TEST_LINK.sub(_blank, text)
    # Skip linked references, because a reader can open them.
    unlinked = _LINK.sub(_blank, text)
    for rule in RULES:
        source = unlinked if "docs/" in rule.instead else text
        for match in rule.compiled.finditer(source):
            words = " ".join(match[0].split())
            if (path, words.lower()) not in ALLOWED:
                yield Hit(path, text.count("\n", 0, match.start()) + 1, words, rule.instead)
        for match in rule.compiled.finditer(path):
            yield Hit(path, 0, match[0], rule.instead)


def is_read(path: str) -> bool:
    """Return whether the check reads this tracked file."""
    return not _OTHER_LANGUAGES.match(path) and not any(fnmatch(path, pattern) for pattern in NOT_READ)


def tracked_files() -> list[str]:
    """Return the paths of all tracked files, relative to the repository's root."""
    # With -z, names with spaces or non-ASCII letters aren't quoted.
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True)
    return [name for name in listed.stdout.decode().split("\0") if name]


def find_hits(paths: Iterable[str]) -> Iterator[Hit]:
    """Yield the hits in `paths`, which are relative to the repository. Binary files are skipped."""
    for path in paths:
        try:
            text = (REPOSITORY / path).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        yield from sorted(hits_in(path, text), key=lambda hit: hit.line)


def main(arguments: list[str]) -> int:
    """Print every hit in these files, by default in all tracked ones; return the exit status."""
    hits = list(find_hits(filter(is_read, arguments or tracked_files())))
    for hit in hits:
        print(hit)
    if hits:
        print(f"{len(hits)} words that this repository doesn't use; see CONTRIBUTING.md, Language.")
    return 1 if hits else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
