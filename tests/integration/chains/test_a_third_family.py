"""A new chain family is one folder: no other file changes, and no other family's rules apply to it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

import chains.families
from chains.client import ChainError
from chains.families import UnknownFamily, families, family_of, get_client, read_address
from chains.models import Chain, Token
from checkout.languages import ENGLISH, read_messages
from merchants.models import AllowedRecipient, Merchant
from merchants.recipients import allow_recipients, parse_recipient
from payments.models import Payment, PaymentRequest
from tests.conftest import Api
from tests.support.chains.catalogue_files import chain, everything, load, token, write

FOLDER = Path(__file__).parent / "more_families"
CHAIN_ID = 777_000_777
RECIPIENT = "moon1" + "a2" * 15
WALLET = "moon1" + "b3" * 15
CONTRACT = "moon1" + "c4" * 15
EVM_WALLET = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
HASH = "m" + "5e" * 32


@pytest.fixture
def moon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add this folder to the folders that are searched for families."""
    monkeypatch.setattr(chains.families, "__path__", [*chains.families.__path__, str(FOLDER)])
    yield
    monkeypatch.undo()
    assert list(families()) == ["evm", "solana"]


@pytest.fixture
def coin(db: None, moon: None, tmp_path: Path) -> Token:
    """Load a catalogue with a chain of the new family; return its native coin, which has 8 decimals."""
    load(write(tmp_path, [entry()]))
    return Token.objects.select_related("chain").get(chain=CHAIN_ID, contract_address="")


def entry(**different: Any) -> dict[str, Any]:
    tokens = [
        token(symbol="LUNE", name="Lune", decimals=8, contract_address=""),
        token(symbol="MUSD", name="Moon Dollar", decimals=6, contract_address=CONTRACT),
    ]
    of_moon = {
        "id": CHAIN_ID,
        "name": "Sea of Tranquility",
        "chain_type": "moon",
        "native_symbol": "LUNE",
        "confirmations": "finalized",
        "routers": {},
        "tokens": tokens,
    }
    return chain(**{**of_moon, **different})


def order(token_: Token, **different: Any) -> dict[str, Any]:
    good = {
        "amount": "12.34567891",
        "token_id": token_.pk,
        "chain_id": CHAIN_ID,
        "recipient_address": RECIPIENT,
    }
    return {**good, **different}


@pytest.fixture
def created(api: Api, coin: Token) -> dict[str, Any]:
    response = api.post("/api/payment-requests", order(coin))
    assert response.status_code == 201, response.content
    response: dict[str, Any] = response.json()
    return response


def test_request_has_the_decimals_of_the_new_family(api: Api, created: dict[str, Any]) -> None:
    assert created["amount"] == {"raw": "1234567891", "formatted": "12.34567891", "decimals": 8}
    assert created["recipient_address"] == RECIPIENT
    assert api.get(f"/api/payment-requests/{created['id']}").json()["chain_id"] == CHAIN_ID
    assert Chain.objects.get(pk=CHAIN_ID).family.native_decimals == 8


@pytest.mark.parametrize(
    ("different", "code", "message"),
    [
        ({"recipient_address": EVM_WALLET}, "address_invalid", "This should be a Moon address"),
        ({"recipient_address": "moon1short"}, "address_invalid", "This should be a Moon address"),
        ({"amount": "10000000.00000001"}, "amount_too_large", "the largest that Sea of Tranquility supports"),
        ({"amount": "0.123456789"}, "amount_too_precise", "LUNE has 8 decimals"),
    ],
)
def test_input_that_the_family_rejects_names_the_family(
    api: Api, coin: Token, different: dict[str, Any], code: str, message: str
) -> None:
    response = api.post("/api/payment-requests", order(coin, **different))
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["code"] == code
    assert message in error["message"]
    assert not PaymentRequest.objects.exists()


def test_public_api_and_pages_show_the_new_family(public: Api, created: dict[str, Any]) -> None:
    listed = public.get("/api/public/chains").json()
    assert listed == [{"id": CHAIN_ID, "name": "Sea of Tranquility", "chain_type": "moon", "is_active": True}]
    shown = public.get(f"/api/public/payment-requests/{created['id']}").json()
    assert (shown["chain"]["chain_type"], shown["amount"]["decimals"]) == ("moon", 8)
    page = public.get(f"/pay/{created['shortcode']}")
    assert page.status_code == 200
    assert RECIPIENT in page.content.decode()
    by_hand = public.get(f"/pay/{created['shortcode']}/by-hand").content.decode()
    assert RECIPIENT in by_hand
    assert "12.34567891" in by_hand
    assert "on the network that you paid from" in by_hand
    for of_others in ("0x", "ethereum:", "solana:", str(CHAIN_ID) + "</code>", "Open in a wallet"):
        assert of_others not in by_hand.partition("<main")[2].partition("</main>")[0]


def test_family_without_wallets_has_no_route_and_a_reason(public: Api, created: dict[str, Any]) -> None:
    body = {"wallet_address": WALLET, "chain_id": CHAIN_ID, "token_id": created["token"]["id"]}
    response = public.post(f"/api/public/payment-requests/{created['id']}/routes", body)
    assert response.status_code == 200
    assert response.json() == {
        "routes": [],
        "reason": {
            "code": "no_route",
            "message": "Moon wallets can't be connected here, so no transaction can be built for them. "
            "Send LUNE on Sea of Tranquility by hand, or choose a token on another chain.",
        },
    }
    wrong = public.post(
        f"/api/public/payment-requests/{created['id']}/routes", {**body, "wallet_address": EVM_WALLET}
    )
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (400, "address_invalid")


def test_provider_without_the_coin_is_not_queried(
    public: Api, created: dict[str, Any], settings: Any
) -> None:
    settings.ROUTING_PROVIDERS = ["lifi"]
    settings.LIFI_API_URL = "http://127.0.0.1:9"  # no server listens here
    base = Chain.objects.create(
        id=8453, name="Base", chain_type="evm", native_symbol="ETH", routers={"lifi": [EVM_WALLET]}
    )
    ether = Token.objects.create(chain=base, symbol="ETH", name="Ether", decimals=18, contract_address="")
    body = {"wallet_address": EVM_WALLET, "chain_id": base.pk, "token_id": ether.pk}
    response = public.post(f"/api/public/payment-requests/{created['id']}/routes", body)
    assert response.status_code == 200, response.content
    assert response.json()["routes"] == []
    assert "to LUNE on Sea of Tranquility" in response.json()["reason"]["message"]


def test_hashes_are_accepted_in_the_familys_spelling(api: Api, created: dict[str, Any]) -> None:
    path = f"/api/payment-requests/{created['id']}/payments"
    rejected = api.post(path, {"transaction_hash": "0x" + "5e" * 32, "chain_id": CHAIN_ID})
    assert rejected.status_code == 400
    assert rejected.json()["error"]["message"].startswith("This should be a Moon transaction")
    assert not Payment.objects.exists()
    taken = api.post(path, {"transaction_hash": HASH.upper(), "chain_id": CHAIN_ID})
    assert taken.status_code in (200, 201, 202), taken.content
    assert Payment.objects.get().transaction_hash == HASH


def test_sandbox_payment_has_the_familys_reference(api: Api, public: Api, created: dict[str, Any]) -> None:
    response = api.post(f"/api/test/payment-requests/{created['id']}/simulate", {"outcome": "paid"})
    assert response.status_code == 200, response.content
    (payment,) = response.json()["payments"]
    assert payment["from_address"] == "moon1" + "0" * 30
    assert payment["transaction_hash"].startswith("m" + b"sandbox-payment-".hex())
    receipt = public.get(f"/pay/{created['shortcode']}/receipt").content.decode()
    reference = bytes(PaymentRequest.objects.get().reference)
    assert "memo-" + reference.hex() in receipt


def test_addresses_of_the_family_are_recognised(merchant: Merchant, coin: Token) -> None:
    assert [read_address(text)[0].key for text in (RECIPIENT, EVM_WALLET)] == ["moon", "evm"]
    allow_recipients(merchant, [parse_recipient(WALLET)], request=None)
    assert str(AllowedRecipient.objects.get()) == f"Moon {WALLET}"


@pytest.mark.parametrize(
    ("different", "message"),
    [
        ({"confirmations": 5}, "confirmations should be finalized"),
        ({"chain_type": "mars"}, "chain_type should be one of evm, moon, solana"),
        ({"routers": {"lifi": [EVM_WALLET]}}, "This should be a Moon address"),
    ],
)
def test_catalogue_that_the_family_rejects_is_not_loaded(
    db: None, moon: None, tmp_path: Path, different: dict[str, Any], message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        load(write(tmp_path, [entry(**different)]))
    assert everything() == []


def test_family_without_a_client_can_not_be_verified(db: None, moon: None, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Moon nodes can't be asked yet"):
        load(write(tmp_path, [entry()]), "--verify")
    assert everything() == []


def test_chain_without_its_family_folder_is_unavailable(
    api: Api, coin: Token, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = [folder for folder in chains.families.__path__ if folder != str(FOLDER)]
    monkeypatch.setattr(chains.families, "__path__", own)
    response = api.post("/api/payment-requests", order(coin))
    assert response.status_code == 400
    assert {each["code"] for each in response.json()["error"]["details"]} == {
        "chain_unknown",
        "token_unknown",
    }
    assert not PaymentRequest.objects.exists()
    with pytest.raises(UnknownFamily, match="'moon'"):
        family_of("moon")
    with pytest.raises(ChainError, match="not installed"):
        get_client(coin.chain)


@pytest.mark.parametrize("key", ["moon", "dust"])
def test_folder_without_a_valid_family_raises_import_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """The folder `moon` defines a family with another name, `dust` defines none."""
    name = f"broken_{key}"
    folder = tmp_path / name
    folder.mkdir()
    source = 'from chains.families.evm import FAMILY\n__all__ = ["FAMILY"]\n' if key == "moon" else ""
    (folder / "__init__.py").write_text(source)
    monkeypatch.setattr(chains.families, "__path__", [*chains.families.__path__, str(tmp_path)])
    with pytest.raises(ImportError, match=f"chains/families/{name} needs a FAMILY"):
        families()


def test_messages_of_every_family_exist_in_the_checkout(moon: None) -> None:
    messages = read_messages(ENGLISH)
    for family in families().values():
        words = vars(family.wording).values()
        keys = {word for word in words if isinstance(word, str) and word.startswith("page.")}
        assert keys <= set(messages), family.key
        assert family.largest_amount < 2**256
        assert set(family.confirmation_tags) <= {"safe", "confirmed", "finalized"}
