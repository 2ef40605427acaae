"""Addresses at which money would be lost can't be recipients."""

import pytest

from chains.families import AddressError
from chains.models import Chain, Token
from chains.recipients import recipient_address

pytestmark = pytest.mark.django_db

WALLET = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
ROUTER = "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"


@pytest.fixture
def chain() -> Chain:
    return Chain.objects.create(pk=4242, name="Base", chain_type="evm", routers={"lifi": [ROUTER]})


def test_wallet_is_returned_with_its_checksum(chain: Chain) -> None:
    assert recipient_address(chain, WALLET.lower()) == WALLET


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("0x000000000000000000000000000000000000dEaD", "no owner"),
        ("0x0000000000000000000000000000000000000200", "no owner"),
        ("0x000000000000000000000000000000000000ffff", "no owner"),
        (ROUTER, "routing provider"),
    ],
)
def test_address_that_loses_money_is_rejected(chain: Chain, address: str, reason: str) -> None:
    with pytest.raises(AddressError, match=reason):
        recipient_address(chain, address)


def test_first_address_beyond_the_precompiles_is_a_wallet(chain: Chain) -> None:
    recipient_address(chain, "0x0000000000000000000000000000000000010000")


def test_any_token_of_the_same_chain_is_rejected(chain: Chain) -> None:
    Token.objects.create(
        chain=chain, symbol="DAI", name="Dai", decimals=18, contract_address=WALLET, is_active=False
    )
    with pytest.raises(AddressError, match="token"):
        recipient_address(chain, WALLET)
    other = Chain.objects.create(pk=4243, name="Other", chain_type="evm")
    assert recipient_address(other, WALLET) == WALLET
