"""Steps of a sponsored payment: the customer signs, the service sends."""

from playwright.sync_api import Locator, Page

SIGN = "eth_signTypedData_v4"


def sign_and_submit(page: Page, pay: Locator) -> None:
    """Pay, and wait until the service has the signature."""
    with page.expect_response("**/authorizations") as submitted:
        pay.click()
    assert submitted.value.status == 201
