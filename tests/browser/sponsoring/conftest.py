"""A service that pays the network fee, and a customer who has USDC but no native coin."""

import json
from decimal import Decimal
from typing import Any

import pytest
from eth_account import Account
from playwright.sync_api import Page

from chains.models import Token
from demo.contracts import deploy
from tests.browser.conftest import AddWallet
from tests.chain import LocalChain
from tests.support.payments.sponsoring import COINS, RULES


@pytest.fixture
def gas_account(usdc: Token, local_chain: LocalChain, settings: Any) -> str:
    """The address of the account that pays the network fee for the test USDC."""
    Token.objects.filter(pk=usdc.pk).update(authorization=RULES)
    account = Account.create()
    local_chain.rpc("anvil_setBalance", account.address, hex(COINS))
    settings.SPONSOR_KEYS = {"evm": "0x" + bytes(account.key).hex()}
    settings.SPONSOR_DAILY_BUDGET = {usdc.chain_id: Decimal(1)}
    return str(account.address)


@pytest.fixture
def payer(page: Page, local_chain: LocalChain) -> Any:
    """A customer's account with 1,000 USDC. The wallets in the page sign with its key."""
    account = Account.create()
    deploy.mint(local_chain.url, local_chain.usdc, account.address, 1_000 * 10**6)

    def sign(data: str) -> str:
        return (
            "0x" + bytes(Account.sign_typed_data(account.key, full_message=json.loads(data)).signature).hex()
        )

    page.context.expose_function("signTypedData", sign)
    return account


@pytest.fixture
def add_signer(add_wallet: AddWallet, payer: Any, gas_account: str) -> AddWallet:
    """Return a function that adds wallets of the payer."""
    return lambda **plan: add_wallet(**{"accounts": [payer.address], **plan})
