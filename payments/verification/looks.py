"""One look at a chain, between asking and writing."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from chains.client import Snapshot
from payments.evaluation.verdicts import Finality


@dataclass(frozen=True)
class Look:
    """One look at a chain: the claim under which results are written, what was seen, and when."""

    claim_id: uuid.UUID
    snapshot: Snapshot
    finality: Finality
    now: datetime
