"""`manage.py deploy_factory` without a node, and for chains that have no factory."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from chains.families.evm.deposits.addresses import DEPLOYER
from chains.families.evm.deposits.calls import factory_deployment
from chains.models import Chain

pytestmark = pytest.mark.django_db


def chain(chain_type: str) -> Chain:
    return Chain.objects.create(id=424242, name="Some Chain", chain_type=chain_type, rpc_urls=[])


def test_transaction_is_printed_without_a_node() -> None:
    chain("evm")
    out, notes = StringIO(), StringIO()
    call_command("deploy_factory", "424242", stdout=out, stderr=notes)
    [transaction] = json.loads(out.getvalue())
    assert transaction == {"to": DEPLOYER, "data": "0x" + factory_deployment().data.hex(), "value": "0x0"}
    assert "Not checked with a node of Some Chain" in notes.getvalue()


def test_chain_outside_the_catalogue_is_rejected() -> None:
    with pytest.raises(CommandError, match="Chain 424242 is not in the catalogue"):
        call_command("deploy_factory", "424242")


def test_solana_chain_has_no_factory() -> None:
    chain("solana")
    with pytest.raises(CommandError, match="chains of this kind have no deposit addresses"):
        call_command("deploy_factory", "424242")
