"""A chain that the test controls, with the interface of the real clients.

For each movement of money, the model also keeps its owners, which no client can show. `Move.owners` are the
requests that the payer meant the money for. No other request may be credited with it.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from uuid import UUID

from solders.signature import Signature

from chains.client import (
    Block,
    ChainError,
    Discovery,
    Head,
    Mention,
    Snapshot,
    TransactionFacts,
    Transfer,
    Watch,
)
from chains.facts.proposals import Execution, Proposal, ProposalSearch

DEPTH = 2
"""The number of blocks that a payment needs, by whichever rule the chain writes."""
FINALITY = 2 * DEPTH
"""The number of blocks after which no reorganisation happens."""
POOL, GONE = -1, -2
BLOCK_TIME = timedelta(seconds=12)

TOKEN = "0x700b6A60ce7EaaEA56F065753d8dcB9653dbAD35"
OTHER_TOKEN = "0x2279B7A0a67DB372996a5FaB50D91eAA73d2eBe6"
MERCHANT = "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"
ROUTER = "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"
BRIDGE = "0x5c7BCd6E7De5423a257D81B442095A1a6ced35C5"
ZERO = "0x0000000000000000000000000000000000000000"

Owners = frozenset[UUID] | None
"""The requests that money is meant for: none at all for stray money; None where its payer robs only itself."""
UNOWNED: Owners = frozenset()
THE_THIEFS: Owners = None


class Noise(Enum):
    """The reasons for which nodes return nothing about a mined transaction."""

    QUIET = "quiet"
    UNREADABLE = "unreadable"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True)
class Move:
    """One movement of money inside a transaction, as a complete look at the chain shows it.

    `is_inner`: only a trace shows who made it and which data it carries. `is_hidden`: it changes the account's
    balance, but no client shows it as a transfer. `is_claimable`: signers or wallets named exactly this
    movement (on Solana, a top-level instruction). `account` and `source` are the token accounts of recipient
    and payer, if they aren't the default ones. `executes` is the order or signed operation that makes the
    movement, which happens once.
    """

    amount: int
    sender: str
    recipient: str
    owners: Owners
    made_by: str = ""
    references: tuple[bytes, ...] = ()
    within: tuple[int, ...] = ()
    token: str = TOKEN
    is_inner: bool = False
    is_hidden: bool = False
    is_direct_swap: bool = False
    account: str = "usual"
    source: str = "usual"
    executes: str = ""

    @property
    def is_round(self) -> bool:
        """Whether the movement is between two accounts of the recipient."""
        return self.sender == self.recipient


@dataclass
class Sent:
    """A transaction. `at` is its block's height, or says that it is in the pool or gone.

    `runs_code`: without a trace, its inner movements can't be known completely.
    """

    hash: str
    sender: str
    nonce: int
    moves: tuple[Move, ...] = ()
    mentions: tuple[Mention, ...] = ()
    succeeds: bool = True
    noise: Noise = Noise.QUIET
    runs_code: bool = False
    effect: str = ""
    at: int = POOL
    mined_at: datetime | None = None

    @property
    def is_mined(self) -> bool:
        return self.at >= 0

    @property
    def is_readable(self) -> bool:
        return self.noise is not Noise.UNREADABLE


@dataclass(frozen=True)
class Executed:
    """A contract account's log in a transaction: it executed this id, and the call succeeded or failed."""

    account: str
    id: str
    hash: str
    has_failed: bool = False


@dataclass
class Ledger:
    """A chain with blocks, a pool and reorganisations.

    `tells_finality`: its nodes know safe and final blocks.
    """

    now: Callable[[], datetime]
    is_solana: bool = False
    has_traces: bool = True
    tells_finality: bool = True
    height: int = 100
    final: int = 100
    sent: dict[str, Sent] = field(default_factory=dict)
    nonces: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    times: dict[int, datetime] = field(default_factory=dict)
    forks: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    is_down: bool = False
    executed: list[Executed] = field(default_factory=list)
    accounts: set[str] = field(default_factory=set)
    """The accounts that have code."""
    proved_by: str = ""
    """The address whose key signs messages at the moment."""

    # --- actions of people
    # ---------------------------------------------------------------------------------------

    def send(self, sender: str, moves: Sequence[Move] = (), **what: object) -> Sent:
        """Broadcast a new transaction from this sender."""
        nonce = self.nonces[sender]
        self.nonces[sender] += 1
        return self._keep(Sent(self.new_hash(), sender, nonce, tuple(moves), **what))  # type: ignore[arg-type]

    def replace(self, old: Sent, moves: Sequence[Move], effect: str) -> Sent:
        """Broadcast another transaction with the same nonce as an unmined one."""
        old.at = GONE
        new = replace(old, hash=self.new_hash(), moves=tuple(moves), effect=effect, at=POOL)
        return self._keep(new)

    def _keep(self, sent: Sent) -> Sent:
        self.sent[sent.hash] = sent
        return sent

    def new_hash(self) -> str:
        """Return a hash that no transaction has yet."""
        name = f"{self.is_solana}{id(self)}{len(self.sent)}".encode()
        self.nonces["hashes"] += 1
        name += str(self.nonces["hashes"]).encode()
        if self.is_solana:
            return str(Signature.from_bytes(hashlib.sha512(name).digest()))
        return "0x" + hashlib.sha256(name).hexdigest()

    # --- actions of the chain
    # ------------------------------------------------------------------------------------

    def mine(self) -> None:
        """Put the pool into a new block. If several transactions have the same nonce, only the newest is mined."""
        self.height += 1
        self.forks[self.height] += 1
        self.times[self.height] = self.now()
        used = {(sent.sender, sent.nonce) for sent in self.sent.values() if sent.is_mined}
        for sent in reversed(self.sent.values()):
            if sent.at == POOL:
                place = (sent.sender, sent.nonce)
                sent.at = GONE if place in used else self.height
                sent.mined_at = self.now()
                used.add(place)
        self.final = max(self.final, self.height - FINALITY + 1)

    def reorganise(self, depth: int, *, drop: bool, flip: bool) -> None:
        """Undo up to `depth` blocks that aren't final. Their transactions return to the pool or are dropped.

        With `flip`, a transaction that failed will succeed when it is mined again, and the reverse.
        """
        lowest = max(self.height - depth, self.final)
        for sent in self.sent.values():
            if sent.at > lowest:
                sent.at = GONE if drop else POOL
                sent.succeeds ^= flip and sent.runs_code
        self.height = lowest

    def rebroadcast(self, sent: Sent) -> None:
        """Return a dropped transaction to the pool, unless another one with its nonce is mined."""
        taken = any(
            other.is_mined and (other.sender, other.nonce) == (sent.sender, sent.nonce)
            for other in self.sent.values()
        )
        if sent.at == GONE and not taken:
            sent.at = POOL

    def depth_of(self, sent: Sent) -> int:
        """Return the number of confirmations, 0 if it is not mined."""
        return self.height - sent.at + 1 if sent.is_mined else 0

    # --- the interface of the real clients -----------------------------------------------------------------------

    def look_up(
        self, hashes: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
    ) -> Snapshot:
        self._answer()
        oversized = {sent.hash for sent in self.sent.values() if sent.noise is Noise.CONTRADICTED}
        facts = {wanted: self.facts(wanted, mentioning) for wanted in hashes if wanted not in oversized}
        return Snapshot(self._head(with_finality), facts, frozenset(oversized.intersection(hashes)))

    def transaction_counts(self, senders: Sequence[str]) -> Mapping[str, int]:
        self._answer()
        if self.is_solana:
            return {}
        mined = [sent for sent in self.sent.values() if sent.is_mined]
        return {
            who: max((sent.nonce + 1 for sent in mined if sent.sender == who), default=0) for who in senders
        }

    def transaction_of_nonce(self, sender: str, nonce: int) -> str | None:
        self._answer()
        places = (s.hash for s in self.sent.values() if (s.sender, s.nonce) == (sender, nonce))
        known = [hash_ for hash_ in places if self.sent[hash_].at != GONE]
        return known[-1] if known and not self.is_solana else None

    def is_signed_by(self, address: str, message: str, signature: str, *, also_at: int | None = None) -> bool:
        self._answer()
        return address == signature

    def may_return_proposals(self, account: str) -> bool:
        self._answer()
        return account in self.accounts

    def block_at(self, moment: datetime) -> int:  # noqa: ARG002 - the interface
        return 0

    def find_executions(self, wanted: Sequence[Proposal], *, until_block: int) -> ProposalSearch:
        self._answer()
        found: dict[Proposal, Execution] = {}
        for proposal in wanted:
            for event in self.executed:
                sent = self.sent[event.hash]
                is_named = (event.account, event.id) == (proposal.account, proposal.id)
                is_shown = sent.is_mined and sent.succeeds and sent.noise is not Noise.CONTRADICTED
                if is_named and is_shown and sent.at >= proposal.first_block and proposal not in found:
                    succeeded = not (event.has_failed and sent.is_readable)
                    found[proposal] = Execution(sent.hash, self._block(sent), succeeded)
        return ProposalSearch(found, {each: until_block + 1 for each in wanted if each not in found})

    def discover(self, watches: Sequence[Watch], *, since_block: int | None) -> Discovery:
        self._answer()
        wanted = {watch.reference for watch in watches}
        found = [
            (reference, sent.hash)
            for sent in self.sent.values()
            if sent.is_mined and sent.succeeds and sent.is_readable and sent.at >= (since_block or 0)
            for reference in {reference for move in self._shown(sent) for reference in move.references}
            if reference in wanted
        ]
        return Discovery(tuple(found), self.height + 1)

    def _answer(self) -> None:
        if self.is_down:
            raise ChainError("no node answers")

    def _head(self, with_finality: bool) -> Head:
        if not (with_finality and self.tells_finality) or self.is_solana:
            return Head(self.height)
        return Head(self.height, safe=self.height - DEPTH + 1, finalized=self.final)

    def facts(self, wanted: str, mentioning: Collection[str]) -> TransactionFacts | None:
        """Return the facts that a client reports about a transaction."""
        sent = self.sent.get(wanted)
        if sent is None or sent.at == GONE or (self.is_solana and sent.at == POOL):
            return None
        nonce = None if self.is_solana else sent.nonce
        mentions = tuple(mention for mention in sent.mentions if mention.contract in mentioning)
        effect = "" if self.is_solana else sent.effect
        base = TransactionFacts(
            sent.hash, sent.sender, nonce, None, False, (), mentions=mentions, effect=effect
        )
        if sent.at == POOL:
            promised = () if sent.runs_code else self._transfers(sent)
            return replace(base, intended=promised)
        block = self._block(sent)
        commitment = None
        if self.is_solana:
            is_final = sent.at <= self.final
            commitment = (
                "finalized" if is_final else "confirmed" if self.depth_of(sent) >= DEPTH else "processed"
            )
        if not sent.is_readable:
            return replace(
                base,
                block=block,
                succeeded=True,
                commitment=commitment,
                is_complete=False,
                is_readable=False,
                mentions=(),
            )
        return replace(
            base,
            block=block,
            succeeded=sent.succeeds,
            transfers=self._transfers(sent) if sent.succeeds else (),
            commitment=commitment,
            is_complete=not self.is_blind_to(sent),
        )

    def _block(self, sent: Sent) -> Block:
        return Block(sent.at, f"0x{self.forks[sent.at]:032x}{sent.at:032x}", self.times[sent.at])

    def is_blind_to(self, sent: Sent) -> bool:
        """Whether no node can show the transaction's inner movements."""
        return sent.runs_code and not self.has_traces and not self.is_solana

    def _shown(self, sent: Sent) -> list[Move]:
        """Return the movements that nodes show, in order."""
        if not self.is_blind_to(sent):
            return list(sent.moves)
        return [
            replace(move, references=(), made_by="", within=move.within if move.is_direct_swap else ())
            if move.is_inner
            else move
            for move in sent.moves
        ]

    def _transfers(self, sent: Sent) -> tuple[Transfer, ...]:
        return tuple(
            self._transfer(sent, place, move)
            for place, move in enumerate(self._shown(sent))
            if not move.is_hidden and not (self.is_solana and (move.is_round or move.amount == 0))
        )

    def _transfer(self, sent: Sent, place: int, move: Move) -> Transfer:
        transfer = Transfer(
            str(place),
            move.token,
            move.sender,
            move.recipient,
            move.amount,
            move.references,
            move.made_by,
            within=move.within,
            is_marked=bool(move.references),
        )
        if not self.is_solana:
            return transfer
        account = _account(move.token, move.recipient, move.account)
        gain = self.gain(sent, account)
        losses = sum(
            max(-self.gain(sent, other), 0)
            for other in _accounts(sent, move.token, move.recipient)
            if other != account
        )
        cap = max(min(move.amount, gain - losses), 0)
        # A program forwards any accounts that it is given. So nothing inside it can be claimed.
        claimable = 0 if move.is_inner else cap
        return replace(
            transfer,
            references=() if move.is_inner else move.references,
            made_by="" if move.is_inner else move.made_by,
            account=account,
            gain=gain,
            claimable=claimable,
        )

    def gain(self, sent: Sent, account: str) -> int:
        """Return the account's balance change in the whole transaction."""
        came = sum(m.amount for m in sent.moves if _account(m.token, m.recipient, m.account) == account)
        went = sum(m.amount for m in sent.moves if _account(m.token, m.sender, m.source) == account)
        return came - went


def _account(token: str, owner: str, which: str) -> str:
    return f"{owner[:20]}:{token[:10]}:{which}"


def _accounts(sent: Sent, token: str, owner: str) -> set[str]:
    return {
        *(_account(token, owner, m.account) for m in sent.moves if (m.recipient, m.token) == (owner, token)),
        *(_account(token, owner, m.source) for m in sent.moves if (m.sender, m.token) == (owner, token)),
    }
