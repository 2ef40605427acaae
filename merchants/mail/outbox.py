"""Store e-mails in the transaction of the change that they are about; `merchants.mail.sending` sends them."""

from merchants.models import Mail, Merchant, StaffMembership


def enqueue(
    merchant: Merchant,
    kind: str,
    recipient: str,
    subject: str,
    text: str,
    *,
    member: StaffMembership | None = None,
) -> None:
    """Store an e-mail. `subject` may contain names: a line break in it, which would end the header, becomes a space."""
    one_line = " ".join(subject.split())[: Mail._meta.get_field("subject").max_length]
    Mail.objects.create(
        merchant=merchant, kind=kind, recipient=recipient, subject=one_line, text=text, member=member
    )
