from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chains.catalogue import CatalogueError, read_catalogue, store_catalogue, verify_catalogue


class Command(BaseCommand):
    help = "Make or update chains and tokens from a catalogue file; nothing is changed when the file is bad."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument(
            "--verify",
            action="store_true",
            help="ask the nodes for their chain id, and tokens for their decimals",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            chains = read_catalogue(options["file"])
            unasked = verify_catalogue(chains) if options["verify"] else []
            chain_count, token_count = store_catalogue(chains)
        except CatalogueError as error:
            raise CommandError(f"The catalogue was not loaded: {error}") from error
        if unasked:
            self.stdout.write(f"Not asked, because inactive: {', '.join(unasked)}.")
        self.stdout.write(f"{chain_count} chains and {token_count} tokens are in the catalogue.")
