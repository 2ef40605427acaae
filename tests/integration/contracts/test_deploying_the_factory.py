"""A printed transaction deploys the factory once. The deployed code is compared with the shipped code."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from chains.families.evm.deposits.addresses import DEPLOYER, FACTORY
from chains.families.evm.deposits.shipped import FACTORY as FACTORY_CONTRACT
from chains.models import Chain
from tests.chain import LocalChain
from tests.support.chains import catalogue_files
from tests.support.chains.deposits import DepositWorld

pytestmark = pytest.mark.django_db
OTHER_CODE = "0x" + (FACTORY_CONTRACT.code[:-1] + b"\1").hex()


@pytest.fixture
def empty(local_chain: LocalChain) -> Iterator[DepositWorld]:
    """The shared chain without the factory."""
    snapshot = local_chain.rpc("evm_snapshot")
    world = DepositWorld(local_chain)
    local_chain.rpc("anvil_setBalance", world.stranger, hex(10**20))
    local_chain.rpc("anvil_setCode", FACTORY, "0x")
    local_chain.rpc("anvil_setNonce", FACTORY, "0x0")
    yield world
    local_chain.revert(snapshot)


def deploy_factory(chain: Chain) -> tuple[list[dict[str, str]], str]:
    out, notes = StringIO(), StringIO()
    call_command("deploy_factory", str(chain.id), stdout=out, stderr=notes)
    return json.loads(out.getvalue()), notes.getvalue()


def test_printed_transaction_deploys_the_factory_once(empty: DepositWorld, chain: Chain) -> None:
    [transaction], notes = deploy_factory(chain)
    assert notes == ""
    data = bytes.fromhex(transaction["data"][2:])
    assert empty.succeeded(transaction["to"], data, value=int(transaction["value"], 16))
    assert empty.code(FACTORY) == FACTORY_CONTRACT.code
    assert not empty.succeeded(transaction["to"], data)
    transactions, notes = deploy_factory(chain)
    assert transactions == []
    assert notes == f"The factory is already deployed at {FACTORY}.\n"


def test_chain_with_other_code_gets_no_transaction(empty: DepositWorld, chain: Chain) -> None:
    empty.chain.rpc("anvil_setCode", FACTORY, OTHER_CODE)
    with pytest.raises(CommandError, match=f"other code at {FACTORY}"):
        deploy_factory(chain)


def test_chain_without_the_deployer_gets_no_transaction(empty: DepositWorld, chain: Chain) -> None:
    empty.chain.rpc("anvil_setCode", DEPLOYER, "0x")
    with pytest.raises(CommandError, match=f"no CREATE2 deployer at {DEPLOYER}"):
        deploy_factory(chain)


def catalogue(path: Path, local_chain: LocalChain) -> Path:
    entry = catalogue_files.chain(
        id=local_chain.chain_id, rpc_urls=[local_chain.url], routers={}, tokens=[], feeds=[]
    )
    return catalogue_files.write(path, [entry])


def test_verify_accepts_a_missing_and_the_shipped_factory(empty: DepositWorld, tmp_path: Path) -> None:
    file = catalogue(tmp_path, empty.chain)
    catalogue_files.load(file, "--verify")
    empty.prepare()
    catalogue_files.load(file, "--verify")
    assert Chain.objects.filter(pk=empty.chain.chain_id).exists()


def test_verify_rejects_a_factory_with_other_code(empty: DepositWorld, tmp_path: Path) -> None:
    empty.chain.rpc("anvil_setCode", FACTORY, OTHER_CODE)
    with pytest.raises(CommandError, match=f"{FACTORY}, the factory of deposit addresses, has other code"):
        catalogue_files.load(catalogue(tmp_path, empty.chain), "--verify")
    assert not Chain.objects.exists()
