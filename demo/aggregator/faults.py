"""The aggregator's wrong responses. The switches alter correct responses, or select one of LI.FI's errors."""

import itertools
import secrets
from collections.abc import Mapping
from typing import Any

from demo.aggregator import answers
from demo.aggregator.answers import Json
from demo.aggregator.book import Book, Swap
from demo.aggregator.places import EVM, Place, Places
from demo.aggregator.pricing import BRIDGE, Tool
from demo.aggregator.quoting import UNKNOWN_CONTRACT, Question, stranger
from demo.aggregator.switches import STATUS_WORDS, Positions

_turns = itertools.count()


class Failure(Exception):
    """An error response in LI.FI's format."""

    def __init__(
        self,
        http_status: int,
        code: int,
        message: str,
        errors: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.http_status = http_status
        self.body: Any = {"message": message, "code": code} | ({} if errors is None else {"errors": errors})
        self.headers = dict(headers or {})


def invalid(message: str) -> Failure:
    return Failure(400, 1011, message)


def no_quote(code: str, tool: Tool) -> Failure:
    """Return the error for a missing route. It has LI.FI's older format: a list with an error of each tool."""
    return Failure(
        404,
        1002,
        "No available quotes for the requested transfer",
        [
            {
                "errorType": "NO_QUOTE",
                "code": code,
                "action": {},
                "tool": tool.key,
                "message": "The tool has no quote",
            }
        ],
    )


def failure(fault: str, positions: Positions) -> Failure | None:
    """Return the error that the switch selects. Return None if the switch doesn't select an error."""
    match fault:
        case "no_quote":
            return no_quote(positions.tool_error, BRIDGE)
        case "filtered_out":
            return _filtered_out(positions.tool_error)
        case "not_found":
            return Failure(404, 1003, "Not an EVM Transaction")
        case "invalid":
            return invalid("Invalid request")
        case "unauthorized":
            return Failure(401, 1010, "Unauthorized")
        case "slippage":
            return Failure(409, 1007, "The slippage is larger than what was allowed")
        case "third_party":
            return Failure(424, 1008, "A third party did not answer")
        case "rate_limited":
            headers = {"ratelimit-reset": str(positions.retry_after), "ratelimit-remaining": "0"}
            return Failure(429, 1005, "Rate limit exceeded", headers=headers)
        case "server_error":
            return Failure(500, 1006, "Internal server error")
        case "malformed":
            return _bare(b'{"id": "broken')
        case "empty":
            return _bare({})
    return None


def crooked_quote(answer: Json, question: Question, positions: Positions) -> Json:
    """Return the quote, altered as the switch selects."""
    action, estimate, request = answer["action"], answer["estimate"], answer["transactionRequest"]
    match positions.quote:
        case "other_receiver_in_call":
            action["toAddress"] = question.recipient
        case "other_token":
            action["toToken"] = answers.token(_other_token(question.target, action["toToken"]["address"]))
        case "other_chain":
            action["toChainId"] = action["toChainId"] + 1
        case "other_sender":
            action["fromAddress"] = stranger(question.source)
        case "minimum_too_low":
            estimate["toAmountMin"] = str(int(estimate["toAmountMin"]) * 99 // 100)
        case "unknown_router":
            request["to"] = UNKNOWN_CONTRACT
        case "unknown_spender":
            estimate["approvalAddress"] = UNKNOWN_CONTRACT
        case "too_much_value" if question.source.kind == EVM:
            request["value"] = hex(int(request["value"], 16) + 10**18)
        case "several_transactions":
            request["data"] = [request["data"], request["data"]]
        case "wrong_types":
            answer |= {"estimate": [estimate], "transactionId": 17}
    return answer


def faulty_status(swap: Swap | None, asked: str, book: Book, places: Places, positions: Positions) -> Json:
    """Return the swap's status, altered as the switch selects. Raises Failure for an unknown swap."""
    fault = positions.status
    if fault == "not_found_quietly":
        return {"status": "NOT_FOUND"}
    if fault.partition("/")[0] in STATUS_WORDS:
        return _forced(swap, asked, fault, places)
    if swap is None or swap.taken_by is None:
        raise Failure(404, 1003, "Not an EVM Transaction")
    answer = answers.status(swap, places)
    if fault == "unknown_word":
        return answer | {"status": "MARINATING", "substatus": "OVERNIGHT"}
    if fault == "flip_flop" and next(_turns) % 2:
        return answer | {"status": "PENDING", "substatus": "WAIT_DESTINATION_TRANSACTION", "receiving": None}
    if fault not in ("honest", "flip_flop"):
        _lie(answer, swap, book, places, positions)
    return answer


def _lie(answer: Json, swap: Swap, book: Book, places: Places, positions: Positions) -> None:
    """Change a correct status so that it falsely reports a completed swap."""
    target = places[swap.to_token.chain_id]
    answer |= {"status": "DONE", "substatus": "COMPLETED", "substatusMessage": "The transfer is complete."}
    receiving = answer["receiving"]
    receiving.setdefault("txHash", _unknown_hash(target))
    receiving.setdefault("amount", str(swap.amount_out))
    receiving.setdefault("token", answers.token(swap.to_token))
    match positions.status:
        case "foreign_hash":
            receiving["txHash"] = positions.hash or _foreign_hash(swap, book)
        case "unknown_hash":
            receiving["txHash"] = _unknown_hash(target)
        case "no_hash":
            del receiving["txHash"]
        case "less":
            receiving["amount"] = str(int(receiving["amount"]) * 99 // 100)
        case "other_token":
            receiving["token"] = answers.token(_other_token(target, swap.to_token.address))
        case "other_recipient":
            answer["toAddress"] = stranger(target)
        case "other_chain":
            receiving["chainId"] = swap.to_token.chain_id + 1
        case "other_source":
            answer["sending"]["txHash"] = _unknown_hash(places[swap.from_token.chain_id])
        case "other_id":
            answer["transactionId"] = "0x" + secrets.token_hex(32)


def _forced(swap: Swap | None, asked: str, fault: str, places: Places) -> Json:
    """Return a response with the status and substatus that `fault` names, instead of the real ones."""
    status, _, substatus = fault.partition("/")
    answer: Json
    if swap and swap.taken_by:
        answer = answers.status(swap, places)
    else:
        answer = {"sending": {"txHash": asked}, "receiving": None}
    answer |= {"status": status, "substatusMessage": "As the switch says."}
    if substatus:
        return answer | {"substatus": substatus}
    answer.pop("substatus", None)
    return answer


def _filtered_out(code: str) -> Failure:
    failed = {
        "overallPath": "1:USDC-localBridge-2:USDC",
        "subpaths": {
            "1:USDC-localBridge-2:USDC": [
                {
                    "errorType": "NO_QUOTE",
                    "code": code,
                    "action": {},
                    "tool": "localBridge",
                    "message": "The tool has no quote",
                }
            ]
        },
    }
    out = {"overallPath": "1:USDC-localExpress-2:USDC", "reason": "The price impact is too high"}
    return Failure(404, 1002, "No available quotes", {"filteredOut": [out], "failed": [failed]})


def _bare(body: Any) -> Failure:
    made = Failure(200, 0, "")
    made.body = body
    return made


def _other_token(place: Place, address: str) -> Any:
    return next(token for token in place.tokens if token.address != address and not token.is_native)


def _unknown_hash(place: Place) -> str:
    if place.kind == EVM:
        return "0x" + secrets.token_hex(32)
    from solders.signature import Signature

    return str(Signature(secrets.token_bytes(64)))


def _foreign_hash(swap: Swap, book: Book) -> str:
    others = [
        other.delivery.hash
        for other in book.all()
        if other.delivery and other.id != swap.id and other.to_token.chain_id == swap.to_token.chain_id
    ]
    return others[-1] if others else "0x" + "ab" * 32
