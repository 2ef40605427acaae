"""Management commands in one process: each returns what it wrote, and one that fails ends none of the others."""

import pytest

from demo.commands import Commands
from demo.services.process import ServiceError
from merchants.models import Merchant
from tests.processes import environment


@pytest.mark.django_db(transaction=True)
def test_commands_run_one_after_another_and_one_that_fails_says_why() -> None:
    with Commands(environment()) as manage:
        with pytest.raises(
            ServiceError, match=r"create_nothing failed:\n +Unknown command: 'create_nothing'"
        ):
            manage("create_nothing")
        with pytest.raises(ServiceError, match="the following arguments are required: NAME"):
            manage("create_merchant")
        made = manage("create_merchant", "Alice's Bakery")
    assert str(Merchant.objects.get(name="Alice's Bakery").pk) == made


@pytest.mark.django_db(transaction=True)
def test_a_variable_is_set_for_one_command_alone(django_user_model: type) -> None:
    password = {"DJANGO_SUPERUSER_PASSWORD": "correct horse battery staple"}
    with Commands(environment(DJANGO_SUPERUSER_EMAIL="a@example.com")) as manage:
        manage("createsuperuser", "--noinput", "--username=first", environment=password)
        manage("createsuperuser", "--noinput", "--username=second")
    made = {user.get_username(): user.has_usable_password() for user in django_user_model.objects.all()}  # type: ignore[attr-defined]
    assert made == {"first": True, "second": False}
