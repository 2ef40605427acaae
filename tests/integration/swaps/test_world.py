"""The routers and tokens in the swap tests' catalogue exist on the chains."""

from tests.support.swaps.world import SwapWorld


def test_every_pinned_router_is_on_its_chain(swap_world: SwapWorld) -> None:
    for chain, row in ((swap_world.first, swap_world.first_row), (swap_world.second, swap_world.second_row)):
        for router in row.routers["lifi"]:
            assert chain.rpc("eth_getCode", router, "latest") != "0x"
    if swap_world.solana and swap_world.solana_row:
        for program in swap_world.solana_row.routers["lifi"]:
            account = swap_world.solana.rpc("getAccountInfo", program, {"encoding": "base64"})["value"]
            assert account["executable"]


def test_the_payer_holds_every_token_on_both_evm_chains(swap_world: SwapWorld) -> None:
    for chain, row in ((swap_world.first, swap_world.first_row), (swap_world.second, swap_world.second_row)):
        for symbol in ("USDC", "DAI", "USDT"):
            token = swap_world.token(row, symbol)
            assert chain.token_balance(token.contract_address, chain.payer) >= 1000 * 10**token.decimals
