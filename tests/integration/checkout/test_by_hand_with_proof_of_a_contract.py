"""A contract account proves its address with a check by its own code (EIP-1271), and then pays by hand."""

from collections.abc import Callable
from typing import Any

from eth_account import Account

from payments.models import PayerProof, Payment
from tests.chain import USDC_UNIT, LocalChain
from tests.support.checkout.bare import Bare, sign
from tests.support.payments.world import Clock, look_until_decided
from tests.support.threats.evm_world import Safe, World, transfer_data

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Checkout = Callable[..., dict[str, Any]]
AMOUNT = 10_500_000


def pay(safe: Safe, chain: LocalChain) -> str:
    """Have another account send the safe's transfer to the chain. It has no reference."""
    return safe.send(safe.execution(chain.usdc, transfer_data(chain.recipient, AMOUNT)))


def test_safe_signs_by_its_owner_and_its_payment_is_credited(
    checkout: Checkout, world: World, local_chain: LocalChain
) -> None:
    browser, safe = Bare(checkout()), world.look_alike_safe()
    page, text = browser.text_for(safe.address)
    assert browser.send(page, signature=sign(text, safe.key)).status_code == 303
    assert PayerProof.objects.get().address == safe.address
    payment = look_until_decided(browser.paste(pay(safe, local_chain)), Clock())
    assert (payment.status, payment.bound_by) == (Payment.Status.COMPLETED, "payer")


def test_signature_of_another_key_is_not_the_safes(
    checkout: Checkout, world: World, local_chain: LocalChain
) -> None:
    browser, safe = Bare(checkout()), world.look_alike_safe()
    page, text = browser.text_for(safe.address)
    stranger = Account.create()
    assert browser.send(page, signature=sign(text, stranger.key.hex())).status_code == 400
    payment = look_until_decided(browser.paste(pay(safe, local_chain)), Clock())
    assert payment.failure_code == "transaction_not_bound"
    assert not PayerProof.objects.exists()


def test_transfer_of_the_owner_is_not_the_safes(
    checkout: Checkout, world: World, local_chain: LocalChain
) -> None:
    browser, safe = Bare(checkout()), world.look_alike_safe()
    page, text = browser.text_for(safe.address)
    assert browser.send(page, signature=sign(text, safe.key)).status_code == 303
    world.fund(Account.from_key(safe.key).address, usdc=11 * USDC_UNIT)
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, AMOUNT, key=safe.key)
    payment = look_until_decided(browser.paste(sent), Clock())
    assert payment.failure_code == "transaction_not_bound"
