"""Name columns as the portal shows them. Changes no table."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('payments', '0020_simulated_payments_index'),
    ]

    operations = [
        migrations.AlterField(
            model_name='payment',
            name='provider_url',
            field=models.CharField(blank=True, db_default='', default='', max_length=500, verbose_name='provider URL'),
        ),
        migrations.AlterField(
            model_name='paymentrequest',
            name='cancel_url',
            field=models.CharField(blank=True, max_length=2048, null=True, verbose_name='cancel URL'),
        ),
        migrations.AlterField(
            model_name='paymentrequest',
            name='external_id',
            field=models.CharField(blank=True, max_length=255, null=True, verbose_name='external ID'),
        ),
        migrations.AlterField(
            model_name='paymentrequest',
            name='redirect_url',
            field=models.CharField(blank=True, max_length=2048, null=True, verbose_name='redirect URL'),
        ),
        migrations.AlterField(
            model_name='paymentrequest',
            name='webhook_url',
            field=models.CharField(blank=True, max_length=2048, null=True, verbose_name='webhook URL'),
        ),
    ]
