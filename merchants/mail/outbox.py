"""Store e-mails to send.

Call `enqueue` in the same database transaction as the change that the e-mail reports. `merchants.mail.sending` sends
the stored e-mails.
"""

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
    """Store an e-mail.

    Line breaks in `subject` become spaces, because they would end the header. Line breaks may come from a name.
    """
    one_line = " ".join(subject.split())[: Mail._meta.get_field("subject").max_length]
    Mail.objects.create(
        merchant=merchant, kind=kind, recipient=recipient, subject=one_line, text=text, member=member
    )
