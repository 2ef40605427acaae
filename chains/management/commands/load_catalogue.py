from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chains.catalogue import CatalogueError, read_catalogue, store_catalogue
from chains.monitoring.catalogue import verify_catalogue


class Command(BaseCommand):
    help = "Create or update chains and tokens from a catalogue file. An invalid file changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument(
            "--verify",
            action="store_true",
            help="compare chain ids and token decimals with the nodes before loading",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            chains = read_catalogue(options["file"])
            unverified = verify_catalogue(chains) if options["verify"] else []
            chain_count, token_count = store_catalogue(chains)
        except CatalogueError as error:
            raise CommandError(f"The catalogue was not loaded: {error}") from error
        if unverified:
            self.stdout.write(f"Not verified because inactive: {', '.join(unverified)}.")
        self.stdout.write(f"{chain_count} chains and {token_count} tokens loaded.")
