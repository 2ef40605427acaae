"""A name can't reverse the amount's digits, and a long name can't push the amount off the page."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import PaymentRequest
from tests.processes import eventually
from tests.support.embedding.wallets import announce
from tests.support.payments.rows import new_payment

Create = Callable[..., dict[str, Any]]
CAFE = "مقهى الميناء"
ADLAM = "\U0001e900\U0001e923\U0001e924\U0001e922\U0001e925"
OVERRIDE, ISOLATE = "\u202e", "\u2067"
# Returns a text's characters in the order in which they are painted, from left to right.
SEEN = """(element) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), seen = [];
  for (let node; (node = walker.nextNode()); ) {
    for (let at = 0; at < node.data.length; at++) {
      const range = document.createRange();
      range.setStart(node, at), range.setEnd(node, at + 1);
      const box = range.getBoundingClientRect();
      if (box.width) seen.push([Math.round(box.top / 8), box.left, node.data[at]]);
    }
  }
  return seen.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, , letter]) => letter).join("");
}"""


def test_amount_is_never_reversed_by_names_around_it(page: Page, create: Create, chain: Chain) -> None:
    request = create(description="Rye")
    PaymentRequest.objects.filter(pk=request["id"]).update(
        status="completed", amount_paid=10_500_000, description=f"99.00 USDC {OVERRIDE}{CAFE}"
    )
    for name in (CAFE, ADLAM, f"Alice {OVERRIDE}CDSU 00.1", f"{ISOLATE}Alice"):
        Merchant.objects.update(display_name=name)
        page.goto(f"{request['payment_url']}?lang=tr")
        expect(page.locator("#amount-label")).to_be_visible()
        for place in (".paid-amount", "#panel .help >> nth=0"):
            eventually(
                # Retry: the script may be drawing the same words at this moment.
                lambda place=place: "10,50 USDC" in page.locator(place).evaluate(SEEN),
                f"the amount was read as it is beside {name}",
                10,
            )
    assert chain.is_active


@pytest.mark.parametrize("page", [{"viewport": {"width": 320, "height": 640}}], indirect=True)
def test_long_unbroken_names_fit_on_the_narrowest_phone(page: Page, create: Create, chain: Chain) -> None:
    request = create()
    Merchant.objects.update(display_name="W" * 100, support_email=f"{'w' * 60}@{'w' * 60}.example")
    Token.objects.filter(pk=request["token"]["id"]).update(name="W" * 100, symbol="W" * 32)
    Chain.objects.filter(pk=chain.pk).update(name="W" * 100, explorer_url="https://" + "w" * 200 + ".example")
    PaymentRequest.objects.filter(pk=request["id"]).update(description="W" * 500)
    announce(page, "W" * 200, "")
    _assert_fits(page, request["payment_url"])
    expect(page.locator("#panel .wallet")).to_be_visible()
    _assert_fits(page, request["payment_url"] + "/by-hand")
    PaymentRequest.objects.filter(pk=request["id"]).update(status="expired")
    _assert_fits(page, request["payment_url"])
    found = PaymentRequest.objects.get(pk=request["id"])
    now = timezone.now()
    new_payment(
        request=found, chain=chain, transaction_hash="0x" + "12" * 32, status="completed",
        amount_received=10_500_000, bound_by="reference", completed_at=now,
    )  # fmt: skip
    PaymentRequest.objects.filter(pk=request["id"]).update(
        status="completed", amount_paid=10_500_000, completed_at=now + timedelta(seconds=1)
    )
    _assert_fits(page, request["payment_url"])
    _assert_fits(page, request["payment_url"] + "/receipt")


def _assert_fits(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator("main")).to_be_visible()
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= page.evaluate("document.documentElement.clientWidth"), url
