from typing import Any

import pytest

from chains.models import Chain
from demo.services import anvil
from merchants.models import Merchant
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.sponsoring import SponsoringWorld


@pytest.fixture
def world(
    local_chain: LocalChain, chain: Chain, merchant: Merchant, public: Api, settings: Any
) -> SponsoringWorld:
    return SponsoringWorld.prepare(local_chain, chain, merchant, public, settings)


@pytest.fixture
def own_world(chain: Chain, merchant: Merchant, public: Api, settings: Any) -> Any:
    """The sponsoring world on a separate chain. Tests can change its clock and blocks."""
    running = anvil.start(chain_id=chain.pk)
    try:
        Chain.objects.filter(pk=chain.pk).update(rpc_urls=[running.url])
        chain.refresh_from_db()
        own = LocalChain.prepare(running.url, running.chain_id)
        yield SponsoringWorld.prepare(own, chain, merchant, public, settings)
    finally:
        running.stop()
