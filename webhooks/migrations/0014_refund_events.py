"""Name the events of refunds. Changes no table."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('webhooks', '0013_fewer_indexes'),
    ]

    operations = [
        migrations.AlterField(
            model_name='delivery',
            name='type',
            field=models.CharField(choices=[('payment.succeeded', 'Payment succeeded'), ('payment.failed', 'Payment failed'), ('payment.expired', 'Payment request expired'), ('payment.partially_paid', 'Payment request partially paid'), ('payment.overpaid', 'Payment request overpaid'), ('payment.reorged', 'Payment undone by a chain reorganisation'), ('refund.completed', 'Refund completed'), ('refund.failed', 'Refund failed')], max_length=64),
        ),
        migrations.AlterField(
            model_name='endpoint',
            name='enabled_events',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('payment.succeeded', 'Payment succeeded'), ('payment.failed', 'Payment failed'), ('payment.expired', 'Payment request expired'), ('payment.partially_paid', 'Payment request partially paid'), ('payment.overpaid', 'Payment request overpaid'), ('payment.reorged', 'Payment undone by a chain reorganisation'), ('refund.completed', 'Refund completed'), ('refund.failed', 'Refund failed')], max_length=64), blank=True, null=True, size=None),
        ),
        migrations.AlterField(
            model_name='event',
            name='type',
            field=models.CharField(choices=[('payment.succeeded', 'Payment succeeded'), ('payment.failed', 'Payment failed'), ('payment.expired', 'Payment request expired'), ('payment.partially_paid', 'Payment request partially paid'), ('payment.overpaid', 'Payment request overpaid'), ('payment.reorged', 'Payment undone by a chain reorganisation'), ('refund.completed', 'Refund completed'), ('refund.failed', 'Refund failed')], max_length=64),
        ),
    ]
