"""Deploy the factory of deposit addresses to the local chains."""

import json
from collections.abc import Mapping

from demo.commands import Commands
from demo.contracts.deploy import send
from demo.services.anvil import DEPLOYER_KEY


def deploy_factories(manage: Commands, urls: Mapping[int, str]) -> None:
    """Deploy the factory to the chains with these ids and nodes, if it doesn't exist yet. Raises ChainRefusal."""
    for chain_id, url in urls.items():
        # The command prints its result in the last line. Before that line, it may print a remark about the chain.
        for call in json.loads(manage("deploy_factory", str(chain_id)).splitlines()[-1]):
            data = bytes.fromhex(call["data"][2:])
            send(url, DEPLOYER_KEY, to=call["to"], data=data, value=int(call["value"], 16))
