"""What a wallet has of many tokens at once: few requests, and a contract that misbehaves spoils itself alone."""

from chains.clients.evm import EvmClient
from tests.chain import LocalChain
from tests.fault_proxy import proxying


def strangers(count: int) -> list[str]:
    """Return addresses at which there is no contract."""
    return ["0x" + (0x10000 + number).to_bytes(20).hex() for number in range(count)]


def test_ordinary_tokens_and_the_native_coin(local_chain: LocalChain, client: EvmClient) -> None:
    balances = client.balances(local_chain.payer, ["", local_chain.usdc, local_chain.dai])
    assert balances[local_chain.usdc] == local_chain.token_balance(local_chain.usdc, local_chain.payer)
    assert balances[""] == int(local_chain.rpc("eth_getBalance", local_chain.payer, "latest"), 16)
    assert set(balances) == {"", local_chain.usdc, local_chain.dai}


def test_a_thousand_tokens_are_one_request(local_chain: LocalChain) -> None:
    with proxying(local_chain.url) as node:
        client = EvmClient([node.url], local_chain.chain_id)
        client.chain_id()
        node.asked.clear()
        asked = ["", *strangers(998), local_chain.usdc, local_chain.dai]
        assert set(client.balances(local_chain.payer, asked)) == {"", local_chain.usdc, local_chain.dai}
        assert node.round_trips == 1
        assert client.tells_inner_calls()
        assert client.allowance(local_chain.usdc, local_chain.payer, local_chain.recipient) == 0
        print(node.asked)
