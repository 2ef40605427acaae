"""The limits of real nodes' free plans, for a proxy in front of the local chain."""

import json
from collections.abc import Callable

from tests.fault_proxy import Exchange, Fault, Json

Refusal = Callable[[Exchange], None]
TRACES = ("debug_", "trace_")


def drpc(exchange: Exchange) -> None:
    """Reject the whole batch with HTTP 500."""
    text = "Batch of more than 3 requests are not allowed on free tier, to use this feature register paid account"
    exchange.send(500, json.dumps({"message": text, "code": 31}).encode())


def helius(exchange: Exchange) -> None:
    """Reject the whole batch with HTTP 403."""
    error = {"code": -32403, "message": "Batch requests are only available for paid plans"}
    exchange.send(403, json.dumps({"jsonrpc": "2.0", "error": error}).encode())


def one_error(exchange: Exchange) -> None:
    """Return one JSON-RPC error for the whole batch, with status 200."""
    error = {"code": -32600, "message": "batch limit exceeded"}
    exchange.send(200, json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode())


def too_few(exchange: Exchange) -> None:
    """Return only the first response of the batch."""
    exchange.reply(exchange.truth()[:1])


REFUSALS: dict[str, Refusal] = {"drpc": drpc, "helius": helius, "one error": one_error, "too few": too_few}


def small_batches(most: int, refuse: Refusal = drpc, otherwise: Fault | None = None) -> Fault:
    """Reject batches of more than `most` calls."""

    def answer(exchange: Exchange) -> None:
        if len(exchange.questions) > most:
            refuse(exchange)
        elif otherwise is not None:
            otherwise(exchange)
        else:
            exchange.reply(exchange.truth())

    return answer


def by_status(exchange: Exchange) -> None:
    """Reject the whole request with HTTP 413, as gateways in front of nodes do."""
    exchange.send(413, b"<html>Payload Too Large</html>", Content_Type="text/html")


def by_words(exchange: Exchange) -> None:
    """Reject the whole request with HTTP 400 and the reason in JSON."""
    exchange.send(400, b'{"jsonrpc": "2.0", "error": {"code": -32602, "message": "Response size exceeded"}}')


def by_one_error(exchange: Exchange) -> None:
    """Return one JSON-RPC error for the whole request, with status 200."""
    ids = [question["id"] for question in exchange.questions]
    error = {"code": -32000, "message": "response is too big"}
    answer = {"jsonrpc": "2.0", "id": ids[0] if len(ids) == 1 else None, "error": error}
    exchange.send(200, json.dumps(answer).encode())


TOO_LARGE: list[Callable[[Exchange], None]] = [by_status, by_words, by_one_error]


def small_answers(most_bytes: int, refuse: Refusal = by_words, otherwise: Fault | None = None) -> Fault:
    """Reject requests whose response is larger than `most_bytes`."""

    def answer(exchange: Exchange) -> None:
        if len(json.dumps(exchange.truth())) > most_bytes:
            refuse(exchange)
        elif otherwise is not None:
            otherwise(exchange)
        else:
            exchange.reply(exchange.truth())

    return answer


def call_by_call(answer_one: Callable[[Json, Json], Json | None]) -> Fault:
    """Forward everything, but replace a call's response if `answer_one(call, response)` returns another."""

    def answer(exchange: Exchange) -> None:
        answers = []
        for question, truth in zip(exchange.questions, exchange.truth(), strict=True):
            other = answer_one(question, truth)
            answers.append(truth if other is None else {"jsonrpc": "2.0", "id": question["id"], **other})
        exchange.reply(answers)

    return answer


def narrow_logs(*, blocks: int | None = None, results: int | None = None) -> Fault:
    """Reject log queries over more than `blocks` blocks or with more than `results` results."""

    def limit(question: Json, truth: Json) -> Json | None:
        if question["method"] != "eth_getLogs":
            return None
        asked = question["params"][0]
        of_one = "blockHash" in asked
        width = 1 if of_one else int(asked["toBlock"], 16) - int(asked["fromBlock"], 16) + 1
        if blocks is not None and width > blocks:
            message = f"Under the Free tier plan, you can make eth_getLogs requests with up to a {blocks} block range."
            return {"error": {"code": -32600, "message": message}}
        if results is not None and len(truth.get("result", [])) > results:
            return {"error": {"code": -32005, "message": f"query returned more than {results} results"}}
        return None

    return call_by_call(limit)


def untraced(question: Json, _: Json) -> Json | None:
    """Return the error for a method that the plan doesn't include."""
    if not question["method"].startswith(TRACES):
        return None
    return {
        "error": {
            "code": -32601,
            "message": f"the method {question['method']} does not exist/is not available",
        }
    }


def free_plan(most: int, blocks: int) -> Fault:
    """Limit batches and block ranges, and reject traces, all at once."""
    narrow = narrow_logs(blocks=blocks)

    def answer(exchange: Exchange) -> None:
        if any(question["method"].startswith(TRACES) for question in exchange.questions):
            call_by_call(untraced)(exchange)
        else:
            narrow(exchange)

    return small_batches(most, otherwise=answer)


def http_400_beyond(blocks: int) -> Fault:
    """Reject too wide block ranges with HTTP 400."""

    def answer(exchange: Exchange) -> None:
        for question in exchange.questions:
            if question["method"] == "eth_getLogs":
                asked = question["params"][0]
                if int(asked["toBlock"], 16) - int(asked["fromBlock"], 16) >= blocks:
                    exchange.send(400, b'{"error": "block range too wide"}')
                    return
        exchange.reply(exchange.truth())

    return answer
