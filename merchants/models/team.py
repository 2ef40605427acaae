"""A merchant's team: members with their roles, and invitations."""

from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone


class StaffMembership(models.Model):
    """The role of a user who isn't an operator. The user is support for all merchants, or a member of one merchant.

    Operators are Django's superusers, and have no row here. `merchants.staff.roles` defines the permissions of each
    role. `notices` are the kinds of notices that the member chose (`merchants.models.mail.NoticeKind`).
    """

    class Role(models.TextChoices):
        SUPPORT = "support", "Support"
        # Release 0.2.0 has only this role within a merchant, and stores it as "merchant". With the same value here,
        # 0.2.0 can still use this table.
        OWNER = "merchant", "Owner"
        DEVELOPER = "developer", "Developer"
        FINANCE = "finance", "Finance"
        VIEWER = "viewer", "Viewer"

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="membership")
    role = models.CharField(max_length=16, choices=Role.choices)
    merchant = models.ForeignKey(
        "merchants.Merchant", on_delete=models.PROTECT, null=True, blank=True, related_name="staff"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    notices = ArrayField(models.CharField(max_length=32), null=True, editable=False)

    class Meta:
        verbose_name = "member"
        permissions = [("see_every_merchant", "Can see what every merchant owns")]
        constraints = [
            models.CheckConstraint(
                condition=Q(role="support", merchant__isnull=True)
                | Q(role__in=("merchant", "developer", "finance", "viewer"), merchant__isnull=False),
                name="staff_of_a_merchant_or_support",
            ),
        ]

    def __str__(self) -> str:
        return self.user.get_username()

    @property
    def position(self) -> str:
        """Return the role, with the merchant if there is one: `Owner of Harbour Coffee`."""
        return f"{self.get_role_display()} of {self.merchant}" if self.merchant else self.get_role_display()


class Invitation(models.Model):
    """An invitation to a role. The invitation's link contains a random token. Only the token's SHA-256 is stored.

    `role` is a `StaffMembership.Role` or `operator`. `invited_by` is null if the command line created the invitation.
    If the inviter loses the right to invite, the invitation is no longer valid.
    """

    merchant = models.ForeignKey(
        "merchants.Merchant", on_delete=models.PROTECT, null=True, related_name="invitations"
    )
    email = models.EmailField()
    role = models.CharField(max_length=16)
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(editable=False)
    accepted_at = models.DateTimeField(null=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering: ClassVar[tuple[str, ...]] = ("-id",)
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=("merchant", "email"),
                condition=Q(accepted_at=None, revoked_at=None),
                name="one_open_invitation_each",
            ),
            models.CheckConstraint(
                condition=Q(role__in=("operator", "support"), merchant__isnull=True)
                | Q(role__in=("merchant", "developer", "finance", "viewer"), merchant__isnull=False),
                name="invited_to_a_merchant_or_to_all",
            ),
        ]

    def __str__(self) -> str:
        return self.email

    def is_open(self, now: datetime) -> bool:
        return self.accepted_at is None and self.revoked_at is None and self.expires_at > now
