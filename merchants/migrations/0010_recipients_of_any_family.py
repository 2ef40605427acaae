from django.db import migrations, models

from chains import families


class Migration(migrations.Migration):
    """As chains 0004: changes nothing in the database."""

    dependencies = [("merchants", "0009_show_order_number")]

    operations = [
        migrations.AlterField(
            model_name="allowedrecipient",
            name="chain_type",
            field=models.CharField(choices=families.choices, max_length=16),
        ),
    ]
