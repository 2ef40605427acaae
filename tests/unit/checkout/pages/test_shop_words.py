"""The shop script's messages are the same as the checkout's, in the same languages."""

import json
import re

from django.contrib.staticfiles import finders

from checkout.languages import read_messages
from merchants.languages import LANGUAGES, closest_language
from tests.processes import REPOSITORY

KEYS = ("page.payment", "shop.close", "shop.opening", "shop.openPage", "shop.elsewhere")
SOURCES = REPOSITORY / "checkout/frontend/src/shop"


def test_shop_script_has_the_checkouts_messages() -> None:
    words = json.loads((SOURCES / "words.json").read_text())
    assert words == {tag: [read_messages(tag)[key] for key in KEYS] for tag in words}
    assert words.keys() == LANGUAGES.keys()


def test_built_shop_script_contains_its_messages() -> None:
    with open(str(finders.find("checkout/quittance.js")), encoding="utf-8") as file:
        script = file.read()
    messages = [read_messages(tag)[key] for tag in LANGUAGES for key in KEYS]
    assert [message for message in messages if f'"{message}"' not in script] == []


def test_shop_script_has_the_services_aliases_of_tags() -> None:
    (also,) = re.findall(r"ALSO[^{]+(\{.+?\});", (SOURCES / "words.ts").read_text())
    pairs = re.findall(r'"?([a-z-]+)"?: "([A-Za-z-]+)"', also)
    assert pairs
    assert all(closest_language(tag) == known for tag, known in pairs)
    assert {tag for tag, _ in pairs} == {"pt", "zh", "zh-cn", "zh-sg"}
