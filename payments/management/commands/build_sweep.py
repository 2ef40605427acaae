import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chains.amounts import display_amount
from chains.client import ChainError
from chains.lookup import find_chain
from merchants.services import MerchantNotFound, find_merchant
from payments.deposits.sweeping import plan_sweeps


class Command(BaseCommand):
    help = (
        "Print the unsigned transactions that sweep a merchant's deposit addresses on a chain, as JSON: "
        '[{"to", "data", "value"}], empty if nothing waits. Any account may send them. What waits is written to stderr.'
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "merchant", metavar="MERCHANT", help="the merchant's id, or its exact name if the name is unique"
        )
        parser.add_argument("--chain", metavar="CHAIN_ID", type=int, required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        chain = find_chain(options["chain"], active_only=False)
        if chain is None:
            raise CommandError(
                f"Chain {options['chain']} is not in the catalogue. Load it with manage.py load_catalogue."
            )
        try:
            plan = plan_sweeps(find_merchant(options["merchant"]), chain)
        except MerchantNotFound as error:
            raise CommandError(str(error)) from error
        except LookupError as error:
            raise CommandError(f"{error}.") from error
        except ChainError as error:
            raise CommandError(f"{chain.name}: {error}") from error
        for each in plan.waiting:
            amount = display_amount(each.amount, each.token.decimals)
            place = "address" if each.addresses == 1 else "addresses"
            note = "" if each.is_requested else ", not requested there and not credited"
            self.stderr.write(f"{amount} {each.token.symbol} at {each.addresses} {place}{note}")
        for token in plan.unknown:
            self.stderr.write(f"{token.symbol}: its contract does not return the balance of every address")
        for address in plan.older:
            self.stderr.write(f"{address}: not swept, because a release with other contracts showed it")
        self.stdout.write(
            json.dumps(
                [
                    {"to": call.to, "data": f"0x{call.data.hex()}", "value": hex(call.value)}
                    for call in plan.calls
                ]
            )
        )
