from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0008_portal_preferences"),
    ]

    operations = [
        migrations.AddField(
            model_name="merchant",
            name="show_order_number",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text=(
                    "Show customers each request’s external_id as the order number, on the checkout and the receipt. "
                    "Anyone with the link can read it."
                ),
            ),
        ),
    ]
