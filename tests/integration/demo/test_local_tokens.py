"""The local world deploys its tokens on a new chain, and completes those of an earlier version."""

from demo.contracts import deploy
from demo.services import anvil
from tests.chain import LocalChain

DOMAIN_SEPARATOR = "0x3644e515"


def test_older_chain_gets_present_code_and_keeps_balances() -> None:
    running = anvil.start()
    try:
        chain = LocalChain.prepare(running.url, running.chain_id)
        before = chain.token_balance(chain.usdc, chain.payer)
        present = chain.rpc("eth_getCode", chain.usdc, "latest")
        chain.rpc("anvil_setCode", chain.usdc, chain.rpc("eth_getCode", chain.dai, "latest"))
        deploy.renew_local_tokens(chain.url)
        assert chain.rpc("eth_getCode", chain.usdc, "latest") == present
        assert chain.token_balance(chain.usdc, chain.payer) == before > 0
        assert len(chain.rpc("eth_call", {"to": chain.usdc, "data": DOMAIN_SEPARATOR}, "latest")) == 66
    finally:
        running.stop()
