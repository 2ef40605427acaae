import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chains.families import ChainError, family_of, get_client
from chains.families.base import DepositContracts
from chains.lookup import find_chain
from chains.models import Chain


class Command(BaseCommand):
    help = (
        "Print the unsigned transaction that deploys the factory of deposit addresses, as JSON: "
        '[{"to", "data", "value"}], empty if the factory is deployed. Any account may send it.'
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("chain_id", metavar="CHAIN_ID", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        chain = find_chain(options["chain_id"], active_only=False)
        if chain is None:
            raise CommandError(
                f"Chain {options['chain_id']} is not in the catalogue. Load it with manage.py load_catalogue."
            )
        contracts = family_of(chain.chain_type).deposits
        if contracts is None:
            raise CommandError(f"{chain.name}: chains of this kind have no deposit addresses.")
        call = contracts.deployment()
        transaction = {"to": call.to, "data": f"0x{call.data.hex()}", "value": hex(call.value)}
        transactions = [] if self._is_deployed(chain, contracts) else [transaction]
        self.stdout.write(json.dumps(transactions))

    def _is_deployed(self, chain: Chain, contracts: DepositContracts) -> bool:
        """Whether the factory is deployed. Raises CommandError if the factory can't work on this chain."""
        try:
            client = get_client(chain)
            code = client.contract_code(contracts.factory)
            has_deployer = client.contract_code(contracts.deployer) != b""
        except ChainError as error:
            # Go on without a node: the transaction is the same on every chain, so it can be signed before a node is
            # configured.
            self.stderr.write(f"Not checked with a node of {chain.name}: {error}")
            return False
        if code and code != contracts.factory_code:
            raise CommandError(
                f"{chain.name} has other code at {contracts.factory}. Don't use deposit addresses there."
            )
        if not code and not has_deployer:
            raise CommandError(
                f"{chain.name} has no CREATE2 deployer at {contracts.deployer}. Deploy that first: "
                "https://github.com/Arachnid/deterministic-deployment-proxy"
            )
        if code:
            self.stderr.write(f"The factory is already deployed at {contracts.factory}.")
        return bool(code)
