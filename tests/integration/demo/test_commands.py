"""Management commands in one process: each returns its output, and a failed one doesn't stop the others."""

import pytest

from demo.commands import Commands
from demo.services.process import ServiceError
from merchants.models import Merchant
from tests.processes import environment


@pytest.mark.django_db(transaction=True)
def test_commands_share_a_process_and_keep_their_own_variables(django_user_model: type) -> None:
    password = {"DJANGO_SUPERUSER_PASSWORD": "correct horse battery staple"}
    with Commands(environment(DJANGO_SUPERUSER_EMAIL="a@example.com")) as manage:
        with pytest.raises(
            ServiceError, match=r"create_nothing failed:\n +Unknown command: 'create_nothing'"
        ):
            manage("create_nothing")
        with pytest.raises(ServiceError, match="the following arguments are required: NAME"):
            manage("create_merchant")
        made = manage("create_merchant", "Alice's Bakery")
        manage("createsuperuser", "--noinput", "--username=first", environment=password)
        manage("createsuperuser", "--noinput", "--username=second")
    assert str(Merchant.objects.get(name="Alice's Bakery").pk) == made
    users = {user.get_username(): user.has_usable_password() for user in django_user_model.objects.all()}  # type: ignore[attr-defined]
    assert users == {"first": True, "second": False}
