"""Queries that are compiled once return the same rows and errors as the ORM's, for any values."""

import uuid
from typing import Any

import pytest
from django.db import DataError, OperationalError, transaction

from chains.models import Chain, Token
from config.database.compiled_query import CompiledInsert, CompiledQuery, run
from merchants.models import Merchant
from payments.models import Payment, Swap, delivery_of, swap_of
from tests.support.payments.world import make_request, submit

pytestmark = pytest.mark.django_db

RECIPIENT = "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"


@pytest.fixture
def token(db: None) -> Token:
    chain = Chain.objects.create(
        id=4_244, name="Dead", chain_type="evm", rpc_urls=["a", "b"], native_symbol="E"
    )
    return Token.objects.create(
        chain=chain, symbol="ETH", name="Ether", decimals=18, contract_address="", tags=["stablecoin"]
    )


def by_name() -> "CompiledQuery[Merchant]":
    return CompiledQuery(lambda name: Merchant.objects.filter(name=name), name="an example")


def test_a_row_is_the_one_that_the_orm_reads(token: Token, merchant: Merchant) -> None:
    from payments.models import PaymentRequest

    request = make_request(merchant, token, "1.5", RECIPIENT)
    query: CompiledQuery[PaymentRequest] = CompiledQuery(
        lambda id: PaymentRequest.objects.filter(pk=id), id=uuid.UUID(int=1)
    )
    (row,) = query.rows(id=request.pk)
    stored = PaymentRequest.objects.get(pk=request.pk)
    for field in PaymentRequest._meta.concrete_fields:
        value = getattr(row, field.attname)
        assert value == getattr(stored, field.attname), field.name
        assert type(value) is type(getattr(stored, field.attname)), field.name


def test_it_is_compiled_once_and_read_with_other_values() -> None:
    Merchant.objects.create(name="One")
    Merchant.objects.create(name="Two")
    query = by_name()
    assert [row.name for row in query.rows(name="One")] == ["One"]
    assert [row.name for row in query.rows(name="Two")] == ["Two"]
    assert query.first(name="Three") is None


def test_a_value_is_never_part_of_the_statement() -> None:
    Merchant.objects.create(name="One")
    assert by_name().rows(name="' OR 1=1 --") == []
    assert by_name().rows(name="%s %(name)s") == []


def test_joined_rows_are_read_with_their_row(
    merchant: Merchant, token: Token, django_assert_num_queries: Any
) -> None:
    request = make_request(merchant, token, "1", RECIPIENT)
    swap, direct = (submit(request, f"0x{number:064x}") for number in (1, 2))
    Swap.objects.create(payment=swap, provider="lifi", polls=3)
    query: CompiledQuery[Payment] = CompiledQuery(
        lambda id: Payment.objects.filter(pk=id).select_related("lookup", "swap__delivery"), id="an id"
    )
    with django_assert_num_queries(2):
        first, second = query.first(id=swap.pk), query.first(id=direct.pk)
        assert first is not None
        assert second is not None
        assert (first.swap.provider, first.swap.polls, delivery_of(first)) == ("lifi", 3, None)
        assert (first.lookup.transaction_hash, first.lookup.payment) == (swap.transaction_hash, swap)
        assert (second.lookup.transaction_hash, swap_of(second)) == (direct.transaction_hash, None)


def test_parameter_changed_by_the_query_fails_to_compile() -> None:
    query: CompiledQuery[Merchant] = CompiledQuery(
        lambda name: Merchant.objects.filter(name__startswith=name), name="an example"
    )
    with pytest.raises(ValueError, match="does not use name as it is"):
        query.rows(name="One")


@pytest.mark.django_db(transaction=True)
def test_lost_connection_raises_and_is_replaced() -> None:
    with pytest.raises(OperationalError):
        run("SELECT pg_terminate_backend(pg_backend_pid())", [])
    assert run("SELECT 1", []).fetchone() == (1,)


def test_too_long_text_is_rejected_not_cut() -> None:
    row = CompiledInsert(Merchant)
    merchant = Merchant(name="x" * 101)
    with pytest.raises(DataError), transaction.atomic():
        run(f"INSERT INTO merchants_merchant ({row.columns}) SELECT {row.values}", row.of(merchant))  # noqa: S608
    assert not Merchant.objects.exists()


def test_a_new_row_is_stored_as_the_orm_does() -> None:
    row = CompiledInsert(Merchant)
    merchant = Merchant(name="Mine", embed_origins=["https://shop.example"])
    run(f"INSERT INTO merchants_merchant ({row.columns}) SELECT {row.values}", row.of(merchant))  # noqa: S608
    stored = Merchant.objects.get()
    assert {f.attname: getattr(stored, f.attname) for f in Merchant._meta.concrete_fields} == {
        f.attname: getattr(merchant, f.attname) for f in Merchant._meta.concrete_fields
    }
