"""The product's WSGI application with the demo wallet, for the local demo only.

The wallet works like a browser extension. The wallet's files are under `/demo-wallet/`, and its script is added to the
checkout's responses. The product doesn't know about the wallet.

Environment:

- `LOCAL_RPC_URL`: the node of the local EVM chain. Optional: `LOCAL_CHAIN_NAME`, `DEMO_WALLET_KEY` and
  `DEMO_MERCHANT_KEY`.
- `HARBOUR_RPC_URL` and `HARBOUR_CHAIN_NAME`: a second EVM chain.
- `LOCAL_SOLANA_RPC_URL` and `DEMO_SOLANA_WALLET_KEY` (32 bytes in hex): the Solana chain. Without them, the wallet
  doesn't support Solana. Optional: `DEMO_SOLANA_MERCHANT_KEY`.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests

from config.wsgi import application as product
from demo.contracts.accounts import DELEGATE

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

WALLET = Path(__file__).parent / "wallet" / "dist" / "wallet.js"

# Account 1 of "test test test … junk". Every local node has it. Don't use it on other chains.
PUBLIC_TEST_KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"

RPC_BODY_LIMIT = 64 * 1024
RPC_TIMEOUT_SECONDS = 10
SOLANA_SYMBOLS = {"2MzcnAYNRmNkepQdfKmAcHZx3dQnmLrEYPz4xpJQ8Wwn": "USDC"}
"""Token symbols by mint, because the chain itself stores no symbols. The only token is the local world's test token."""
RPC_METHODS = frozenset(
    {
        "eth_blockNumber",
        "eth_call",
        "eth_chainId",
        "eth_estimateGas",
        "eth_feeHistory",
        "eth_gasPrice",
        "eth_getBalance",
        "eth_getBlockByNumber",
        "eth_getCode",
        "eth_getTransactionByHash",
        "eth_getTransactionCount",
        "eth_getTransactionReceipt",
        "eth_maxPriorityFeePerGas",
        "eth_sendRawTransaction",
    }
)
SOLANA_RPC_METHODS = frozenset(
    {
        "getAccountInfo",
        "getBalance",
        "getMinimumBalanceForRentExemption",
        "getTokenAccountsByOwner",
        "sendTransaction",
        "simulateTransaction",
    }
)

_NONCE = re.compile(r"script-src[^;]*'nonce-([A-Za-z0-9+/=_-]+)'")

Headers = list[tuple[str, str]]


@dataclass(frozen=True)
class LocalNode:
    """A local chain for the wallet: its node, its name, and the test key (hex) that signs there.

    `merchant_key` is the key of the merchant's wallet. On pages that send refunds, the merchant's wallet replaces the
    customer's wallet.
    """

    rpc_url: str
    chain_name: str
    key: str
    merchant_key: str | None = None


def with_demo_wallet(
    product: "WSGIApplication", *, evm: Sequence[LocalNode], solana: LocalNode | None = None
) -> "WSGIApplication":
    """Serve `product` with the demo wallet. The wallet signs for these chains and calls their nodes.

    The wallet starts on the first EVM chain. The key of that chain signs on all EVM chains.
    """
    config = json.dumps(_config(evm, solana)).encode()
    nodes = {_rpc_path(place): (node.rpc_url, RPC_METHODS) for place, node in enumerate(evm)}
    if solana:
        nodes["/demo-wallet/solana-rpc"] = (solana.rpc_url, SOLANA_RPC_METHODS)

    def application(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        path, method = environ.get("PATH_INFO", ""), environ["REQUEST_METHOD"]
        if path == "/demo-wallet/wallet.js" and method == "GET":
            return _answer(start_response, "200 OK", "text/javascript; charset=utf-8", WALLET.read_bytes())
        if path == "/demo-wallet/config.json" and method == "GET":
            return _answer(start_response, "200 OK", "application/json", config)
        if path in nodes and method == "POST":
            status, body = _ask_node(environ, *nodes[path])
            return _answer(start_response, status, "application/json", json.dumps(body).encode())
        if path.startswith(("/pay/", "/refunds/")) and method == "GET":
            return _inject(product, environ, start_response)
        return product(environ, start_response)

    return application


def _rpc_path(place: int) -> str:
    return f"/demo-wallet/rpc/{place}"


def _config(evm: Sequence[LocalNode], solana: LocalNode | None) -> dict[str, Any]:
    on_solana = solana and {
        "privateKey": solana.key,
        "merchantKey": solana.merchant_key,
        "rpc": "/demo-wallet/solana-rpc",
        "chainName": solana.chain_name,
        "symbols": SOLANA_SYMBOLS,
    }
    chains = [
        {"rpc": _rpc_path(place), "name": node.chain_name, "nativeSymbol": "ETH"}
        for place, node in enumerate(evm)
    ]
    keys = {"privateKey": evm[0].key, "merchantKey": evm[0].merchant_key}
    return {**keys, "chains": chains, "delegate": DELEGATE, "solana": on_solana}


def _answer(start_response: "StartResponse", status: str, content_type: str, body: bytes) -> list[bytes]:
    headers = [
        ("Content-Type", content_type),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
    ]
    start_response(status, headers)
    return [body]


def _ask_node(
    environ: "WSGIEnvironment", rpc_url: str, methods: frozenset[str]
) -> tuple[str, dict[str, Any]]:
    """Forward a JSON-RPC call to the node. Only methods that wallets use are allowed."""
    if environ.get("CONTENT_TYPE", "").partition(";")[0].strip() != "application/json":
        return "415 Unsupported Media Type", _rpc_error(None, -32600, "The body must be application/json.")
    length = environ.get("CONTENT_LENGTH") or "0"
    if not length.isascii() or not length.isdigit() or int(length) > RPC_BODY_LIMIT:
        return "413 Content Too Large", _rpc_error(None, -32600, f"The limit is {RPC_BODY_LIMIT} bytes.")
    try:
        call = json.loads(environ["wsgi.input"].read(int(length)))
    except (ValueError, RecursionError):
        return "400 Bad Request", _rpc_error(None, -32700, "The body is not JSON.")
    if not isinstance(call, dict) or not isinstance(call.get("method"), str):
        return "400 Bad Request", _rpc_error(None, -32600, "The body is not one JSON-RPC call.")
    if call["method"] not in methods:
        return "200 OK", _rpc_error(call.get("id"), -32601, f"{call['method']} is not passed on.")
    try:
        answer = requests.post(rpc_url, json=call, timeout=RPC_TIMEOUT_SECONDS).json()
    except requests.RequestException:
        return "502 Bad Gateway", _rpc_error(
            call.get("id"), -32000, "The local chain's node does not answer."
        )
    return "200 OK", answer


def _rpc_error(call_id: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": call_id, "error": {"code": code, "message": message}}


def _inject(
    product: "WSGIApplication", environ: "WSGIEnvironment", start_response: "StartResponse"
) -> Iterable[bytes]:
    """Add the wallet's script to an HTML page, with the nonce of the page's policy."""
    environ.pop("HTTP_ACCEPT_ENCODING", None)
    status, headers, body = _collect(product, environ)
    if status.startswith("200 ") and _header(headers, "Content-Type").startswith("text/html"):
        nonce = _NONCE.search(_header(headers, "Content-Security-Policy"))
        attribute = f' nonce="{nonce[1]}"' if nonce else ""
        script = f'<script src="/demo-wallet/wallet.js"{attribute} defer></script></head>'
        body = body.replace(b"</head>", script.encode(), 1)
        headers = [(name, value) for name, value in headers if name.lower() != "content-length"]
        headers.append(("Content-Length", str(len(body))))
    start_response(status, headers)
    return [body]


def _collect(product: "WSGIApplication", environ: "WSGIEnvironment") -> tuple[str, Headers, bytes]:
    """Call `product`, and return the whole response."""
    status, headers = "", Headers()
    written: list[bytes] = []

    def keep(new_status: str, new_headers: Headers, _exc_info: Any = None, /) -> Callable[[bytes], object]:
        nonlocal status, headers
        status, headers = new_status, new_headers
        return written.append

    chunks = product(environ, keep)
    try:
        written.extend(chunks)
    finally:
        if close := getattr(chunks, "close", None):
            close()
    return status, headers, b"".join(written)


def _header(headers: Headers, name: str) -> str:
    return next((value for key, value in headers if key.lower() == name.lower()), "")


def _evm_nodes(environment: Mapping[str, str]) -> list[LocalNode]:
    key = environment.get("DEMO_WALLET_KEY", PUBLIC_TEST_KEY)
    first = environment.get("LOCAL_CHAIN_NAME", "Local test chain")
    nodes = [LocalNode(environment["LOCAL_RPC_URL"], first, key, environment.get("DEMO_MERCHANT_KEY"))]
    if second := environment.get("HARBOUR_RPC_URL"):
        nodes.append(LocalNode(second, environment.get("HARBOUR_CHAIN_NAME", "Second test chain"), key))
    return nodes


def _solana_node(environment: Mapping[str, str]) -> LocalNode | None:
    rpc_url, key = environment.get("LOCAL_SOLANA_RPC_URL"), environment.get("DEMO_SOLANA_WALLET_KEY")
    merchant_key = environment.get("DEMO_SOLANA_MERCHANT_KEY")
    return LocalNode(rpc_url, "Local Solana", key, merchant_key) if rpc_url and key else None


application = with_demo_wallet(
    product,
    evm=_evm_nodes(os.environ),
    solana=_solana_node(os.environ),
)
