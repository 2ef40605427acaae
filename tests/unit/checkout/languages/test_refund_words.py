"""When a merchant sends a refund, the checkout calls it a refund in every language."""

import pytest

from checkout.languages import language
from merchants.languages import LANGUAGES

# In some languages, these messages don't name the payment or the refund.
SAME = {"notices.rejectedPayment", "page.find"}


@pytest.mark.parametrize("tag", LANGUAGES)
def test_the_words_of_a_refund_replace_those_of_a_payment(tag: str) -> None:
    usual, own = language(tag), language(tag, is_for_refund=True)
    replaced = [key.removeprefix("refund.") for key in usual.messages if key.startswith("refund.")]
    assert {key: own.messages[key] for key in replaced} == {
        key: usual.messages[f"refund.{key}"] for key in replaced
    }
    assert {key for key in replaced if own.messages[key] == usual.messages[key]} <= SAME
    assert len(replaced) > 30


def test_the_pages_script_gets_the_words_of_its_page_alone() -> None:
    usual, own = language("en").script_messages(), language("en", is_for_refund=True).script_messages()
    assert usual.keys() == own.keys()
    assert (usual["pay"], own["pay"]) == ("Pay {amount}", "Refund {amount}")
