"""Count the actions in the histories. An action that never succeeds would test nothing."""

import json
from collections import Counter

HAPPENED: Counter[str] = Counter()
"""How often each action was taken, and how often each result came of it."""
_PREFIX = "counts of what happened: "
# Actions that must occur in a few hundred histories.
EXPECTED = (
    "customer's proof afterwards: bound",
    "thief's proof afterwards: bound",
    "thief's proof in another's name: signature_invalid",
    "thief's proof afterwards: transaction_already_used",
    "thief's proof afterwards: transaction_not_bound",
    "customer's id: accepted",
    "thief's id: accepted",
    "credited by payer, found by an id",
    "credited by reference, found by an id",
    "credited by payer, proved afterwards",
    "credited by reference",
    "credited by payer",
    "credited by provider",
    "credited by manual",
    "failed execution of an id",
)


def show() -> None:
    print(f"\n{_PREFIX}{json.dumps(HAPPENED)}")


def read(output: str) -> Counter[str]:
    """Return the counts printed in a process' output."""
    lines = (line.removeprefix(_PREFIX) for line in output.splitlines() if line.startswith(_PREFIX))
    return sum((Counter(json.loads(line)) for line in lines), Counter())
