from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "0017_amounts_of_waiting_arrivals")]

    operations = [
        migrations.AlterField(
            model_name="payment",
            name="bound_by",
            field=models.CharField(
                blank=True,
                choices=[
                    ("reference", "Reference"),
                    ("payer", "Payer"),
                    ("provider", "Provider"),
                    ("address", "Address"),
                    ("authorization", "Authorization"),
                    ("manual", "Manual"),
                ],
                max_length=16,
            ),
        ),
    ]
