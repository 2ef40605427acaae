"""Count what happens in the histories: an action that never succeeds proves nothing."""

import json
from collections import Counter

HAPPENED: Counter[str] = Counter()
"""How often each action was taken, and how often each result came of it."""
_PREFIX = "counts of what happened: "
# Each of them happens in some hundreds of histories.
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
    """Print the counts on a line of their own."""
    print(f"\n{_PREFIX}{json.dumps(HAPPENED)}")


def read(output: str) -> Counter[str]:
    """Return the counts that are printed in the output of a process."""
    lines = (line.removeprefix(_PREFIX) for line in output.splitlines() if line.startswith(_PREFIX))
    return sum((Counter(json.loads(line)) for line in lines), Counter())
