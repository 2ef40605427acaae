"""The demo exchange pays an address in a batch, in tokens and in native coin."""

from pathlib import Path

import pytest

from demo import exchange
from demo.contracts import deploy
from demo.exchange import WrongOrder, hot_wallet, node_url, withdraw
from tests.chain import LocalChain
from tests.support.chains.deposits import new_address

HARBOUR = 31338


def test_token_arrives_in_a_batch_of_transfers(local_chain: LocalChain) -> None:
    address = new_address()
    receipt = withdraw(local_chain.url, address, "12.50", "USDC")
    assert local_chain.token_balance(local_chain.usdc, address) == 12_500_000
    assert len(receipt["logs"]) == 3
    # The tokens minted for the batch have left the wallet.
    assert local_chain.token_balance(local_chain.usdc, hot_wallet(local_chain.url)) == 0


def test_native_coin_arrives_by_an_internal_call(local_chain: LocalChain) -> None:
    address = new_address()
    receipt = withdraw(local_chain.url, address, "0.25", "ETH")
    assert int(local_chain.rpc("eth_getBalance", address, "latest"), 16) == 25 * 10**16
    sent = local_chain.rpc("eth_getTransactionByHash", receipt["transactionHash"])
    wallet = hot_wallet(local_chain.url)
    assert (sent["to"], int(sent["value"], 16)) == (wallet.lower(), 0)


@pytest.mark.parametrize(
    ("order", "problem"),
    [
        (("0x12", "1", "USDC"), "is no address"),
        (("", "1", "GOLD"), "It has ETH, USDC, DAI"),
        (("", "1.0000001", "USDC"), "is no amount of USDC"),
        (("", "0", "USDC"), "is no amount of USDC"),
        (("", "-1", "USDC"), "is no amount of USDC"),
        (("", "much", "USDC"), "is no amount of USDC"),
    ],
)
def test_wrong_order_sends_nothing(
    local_chain: LocalChain, order: tuple[str, str, str], problem: str
) -> None:
    address, amount, token = order
    head = local_chain.rpc("eth_blockNumber")
    with pytest.raises(WrongOrder, match=problem):
        withdraw(local_chain.url, address or new_address(), amount, token)
    assert local_chain.rpc("eth_blockNumber") == head


def test_command_reads_the_running_worlds_node(
    local_chain: LocalChain,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WORLD_DIRECTORY", str(tmp_path))
    address = new_address()
    assert exchange.main([address, "1", "USDC"]) == 1
    assert "make run" in capsys.readouterr().err
    (tmp_path / "settings.sh").write_text(
        f"export LOCAL_RPC_URL={local_chain.url}\nexport HARBOUR_RPC_URL='http://127.0.0.1:9'\n"
    )
    assert exchange.main([address, "1", "USDC"]) == 0
    assert "Sent 1 USDC in transaction 0x" in capsys.readouterr().out
    assert deploy.balance(local_chain.url, local_chain.usdc, address) == 10**6
    assert node_url(HARBOUR) == "http://127.0.0.1:9"
    assert exchange.main([address, "1", "USDC", "--chain", "1"]) == 1
    assert "31337, 31338" in capsys.readouterr().err
