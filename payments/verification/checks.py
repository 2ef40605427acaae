"""The result of looking up a batch of payments on one chain."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from chains.client import Snapshot
from payments.evaluation.verdicts import Finality


@dataclass(frozen=True)
class ChainCheck:
    """What the nodes returned, when, and the claim id under which results are stored."""

    claim_id: uuid.UUID
    snapshot: Snapshot
    finality: Finality
    now: datetime
