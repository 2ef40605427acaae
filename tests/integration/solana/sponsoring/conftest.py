from typing import Any

import pytest

from chains.models import Token
from merchants.models import Merchant
from tests.conftest import Api
from tests.support.payments.cosigning import CosigningWorld
from tests.support.solana.ledger import LocalLedger


@pytest.fixture
def world(
    local_ledger: LocalLedger, solana_usdc: Token, merchant: Merchant, public: Api, settings: Any
) -> CosigningWorld:
    return CosigningWorld.prepare(local_ledger, solana_usdc, merchant, public, settings)
