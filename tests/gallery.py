"""`make pictures` renews the pictures of the checkout in docs/images. They come from tests that reach its states."""

import base64
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browsing import launch_profile

REPOSITORY = Path(__file__).resolve().parent.parent
IMAGES = REPOSITORY / "docs" / "images"
HIGHEST_PX = 1200
QUALITY = 88

# For each file in docs/images: the picture's name in its test, the window and the colours.
GALLERY = {
    "checkout-desktop": "review-desktop-light",
    "checkout-phone": "wallets-phone-light",
    "checkout-wallets": "wallets-desktop-light",
    "checkout-tokens": "tokens-phone-light",
    "checkout-routes": "routes-phone-light",
    "checkout-review": "review-another-token-phone-light",
    "checkout-allowing": "approving-behind-the-demo-wallet-desktop-light",
    "checkout-crossing": "on-its-way-to-another-chain-phone-light",
    "checkout-paid": "complete-from-another-chain-desktop-light",
    "checkout-underpaid": "underpaid-phone-light",
    "checkout-failed": "failed-sent-back-phone-light",
    "checkout-by-address": "by-address-phone-light",
    "checkout-by-address-part": "by-address-a-part-is-arriving-phone-light",
    "checkout-by-hand": "by-hand-without-scripts-phone-light",
    "checkout-dark": "review-desktop-dark",
    "checkout-arabic": "review-in-ar-phone-light",
    "checkout-receipt": "receipt-without-scripts-phone-light",
}
TESTS = (
    "tests/browser/local_world/test_shop_to_paid.py::test_shop_order_is_paid_with_the_demo_wallet",
    "tests/browser/local_world/swaps/test_swaps.py::test_token_on_one_chain_pays_for_one_on_another",
    "tests/browser/local_world/swaps/test_swaps.py::test_refunded_swap_leads_to_paying_again",
    "tests/browser/wallets/test_page_states.py::test_underpayment_shows_the_remaining_amount_to_pay",
    "tests/browser/checkout/test_by_address.py::test_plain_transfer_completes_with_no_wallet_connected",
    "tests/browser/checkout/test_by_address.py::test_rest_of_an_underpayment_goes_to_the_same_address",
    "tests/browser/checkout/test_without_scripts.py::test_sending_by_hand_leads_from_warning_to_progress",
    "tests/browser/checkout/test_without_scripts.py::test_receipt_has_the_proof_and_can_be_printed",
    "tests/browser/accessibility/test_languages.py::test_way_to_pay_reads_well_in_each_language[ar]",
)


def main() -> None:
    """Run the tests and replace the pictures in docs/images. If a test took no new picture, nothing is replaced."""
    with tempfile.TemporaryDirectory() as taken:
        command = [sys.executable, "-m", "pytest", "-q", "--pictures", taken, *TESTS]
        subprocess.run(command, cwd=REPOSITORY, check=True)
        small = _made_small({name: Path(taken, f"{picture}.png") for name, picture in GALLERY.items()})
    for old in IMAGES.glob("checkout-*.webp"):
        old.unlink()
    for name, content in small.items():
        (IMAGES / f"{name}.webp").write_bytes(content)
        print(f"docs/images/{name}.webp: {len(content) // 1000} kB")


def _made_small(pictures: dict[str, Path]) -> dict[str, bytes]:
    """Return the upper part of each picture as WebP. The browser converts it."""
    small = {}
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as profile:
        context = launch_profile(driver, Path(profile))
        page = context.new_page()
        for name, picture in pictures.items():
            if not picture.exists():
                raise SystemExit(f"No test took {picture.name}, which {name} shows (is Chromium missing?).")
            content = base64.b64encode(picture.read_bytes()).decode()
            page.set_content(f'<body style="margin:0"><img src="data:image/png;base64,{content}">')
            width, height = page.locator("img").evaluate(
                "async (image) => { await image.decode(); return [image.naturalWidth, image.naturalHeight]; }"
            )
            page.set_viewport_size({"width": width, "height": min(height, HIGHEST_PX)})
            answer = context.new_cdp_session(page).send(
                "Page.captureScreenshot", {"format": "webp", "quality": QUALITY}
            )
            small[name] = base64.b64decode(answer["data"])
        context.close()
    return small


if __name__ == "__main__":
    main()
