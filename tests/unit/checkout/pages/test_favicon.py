"""Browsers and link previews request `/favicon.ico` at this path, whichever page they show."""

from django.contrib.staticfiles import finders
from django.test import Client


def test_the_icon_is_answered_from_the_static_files(client: Client) -> None:
    answer = client.get("/favicon.ico")
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/png")
    with open(finders.find("checkout/icon.png"), "rb") as file:
        assert file.read() == answer.content
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert not answer.cookies


def test_the_icon_is_cached_and_not_sent_twice(client: Client) -> None:
    answer = client.get("/favicon.ico")
    assert answer["Cache-Control"] == "public, max-age=86400"
    again = client.get("/favicon.ico", headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_icon_is_answered_while_there_is_no_database(client: Client) -> None:
    # The test has no database access, so any query would raise an error.
    assert client.get("/favicon.ico").status_code == 200
    assert client.head("/favicon.ico").status_code == 200
    assert client.post("/favicon.ico").status_code == 405
