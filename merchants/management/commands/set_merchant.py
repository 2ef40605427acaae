from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.db.models import URLField
from django.forms import modelform_factory

from chains.families import AddressError
from merchants.admin.forms import MerchantForm
from merchants.currencies import validate_reporting_currency
from merchants.models import Merchant
from merchants.recipients import allow_recipients, disallow_recipients, parse_recipient
from merchants.services import MerchantNotFound, find_merchant
from merchants.settings import note_settings
from merchants.web_addresses import parse_origin

_SWITCHES = {
    "references": "references",
    "deposit_addresses": "deposit_addresses",
    "sponsored_payments": "sponsored_payments",
    "order_number": "show_order_number",
}
_THEME = {
    "display_name": "NAME",
    "logo_url": "URL",
    "accent_colour": "#RRGGBB",
    "background_colour": "#RRGGBB",
}


class Command(BaseCommand):
    help = (
        "Change a merchant's settings: its theme, payment references, deposit addresses, sponsored payments, the sites "
        "that can embed its checkout, and its allowed recipients."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "merchant", metavar="MERCHANT", help="the merchant's id, or its exact name if the name is unique"
        )
        parser.add_argument("--references", choices=("on", "off"))
        parser.add_argument(
            "--deposit-addresses",
            choices=("on", "off"),
            help="let customers on EVM chains pay to a deposit address of the payment request",
        )
        parser.add_argument(
            "--sponsored-payments",
            choices=("on", "off"),
            help="let customers sign a transfer that the operator sends and pays the network fee for",
        )
        parser.add_argument(
            "--order-number",
            choices=("on", "off"),
            help="show customers each request's external_id on the checkout and the receipt",
        )
        parser.add_argument(
            "--reporting-currency",
            metavar="CODE",
            help="currency in which completed payments are valued, such as EUR",
        )
        for name in _THEME:
            parser.add_argument(
                f"--{name.replace('_', '-')}", metavar=_THEME[name], help="an empty value removes it"
            )
        parser.add_argument("--embed-origin", action="append", metavar="URL", help="repeatable")
        recipients = parser.add_mutually_exclusive_group()
        recipients.add_argument(
            "--allow-recipient",
            action="append",
            metavar="ADDRESS",
            help=(
                "add an EVM or Solana wallet to the list; requests can then pay only these wallets. "
                "Repeatable"
            ),
        )
        recipients.add_argument(
            "--disallow-recipient",
            action="append",
            metavar="ADDRESS",
            help="remove a wallet from the list; an empty list allows any wallet. Repeatable",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        allowed = [_recipient(text) for text in options["allow_recipient"] or ()]
        disallowed = [_recipient(text) for text in options["disallow_recipient"] or ()]
        try:
            merchant = find_merchant(options["merchant"])
        except MerchantNotFound as error:
            raise CommandError(str(error)) from error
        with transaction.atomic():
            _set_columns(merchant, options)
            if allowed:
                allow_recipients(merchant, allowed, request=None)
            if disallowed:
                self._disallow(merchant, disallowed)

    def _disallow(self, merchant: Merchant, recipients: list[tuple[str, str]]) -> None:
        try:
            left = disallow_recipients(merchant, recipients, request=None)
        except LookupError as error:
            raise CommandError(str(error)) from error
        if not left:
            self.stdout.write(f"{merchant} has no allowed recipients left: its requests can pay any address.")


def _set_columns(merchant: Merchant, options: dict[str, Any]) -> None:
    changed = []
    for option, name in _SWITCHES.items():
        if options[option]:
            setattr(merchant, name, options[option] == "on")
            changed.append(name)
    if options["reporting_currency"] is not None:
        merchant.reporting_currency = _currency(options["reporting_currency"])
        changed.append("reporting_currency")
    changed += _set_theme(merchant, options)
    if options["embed_origin"]:
        merchant.embed_origins = [_origin(url) for url in options["embed_origin"]]
        changed.append("embed_origins")
    if changed:
        merchant.save(update_fields=changed)
        note_settings(merchant, changed, request=None)


def _currency(code: str) -> str:
    try:
        validate_reporting_currency(code)
    except ValidationError as error:
        raise CommandError(f"reporting_currency: {error.message}") from error
    return code


def _set_theme(merchant: Merchant, options: dict[str, Any]) -> list[str]:
    """Change settings of a merchant's checkout, validated by the admin form. Return the names of the settings."""
    given = {name: options[name] for name in _THEME if options[name] is not None}
    if not given:
        return []
    form_class = modelform_factory(
        Merchant,
        form=MerchantForm,
        fields=list(given),
        formfield_callback=lambda field, **options: field.formfield(
            **({"assume_scheme": "https"} if isinstance(field, URLField) else {}), **options
        ),
    )
    form = form_class(given, instance=merchant)
    # Keep only the fields whose options were given.
    for name in set(form.fields) - set(given):
        del form.fields[name]
    if not form.is_valid():
        raise CommandError(
            "; ".join(f"{name}: {' '.join(map(str, wrong))}" for name, wrong in form.errors.items())
        )
    return list(given)


def _recipient(text: str) -> tuple[str, str]:
    try:
        return parse_recipient(text)
    except AddressError as error:
        raise CommandError(f"{text!r}: {error}") from error


def _origin(url: str) -> str:
    try:
        return parse_origin(url)
    except ValueError as error:
        raise CommandError(str(error)) from error
