"""Store what one node reported of each waiting arrival, so that the largest are credited first.

The table is as new as deposit addresses, and short: rows are deleted once they are credited.
"""

import chains.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chains', '0002_finality_tags'),
        ('payments', '0016_coins_at_deposit_addresses'),
    ]

    operations = [
        migrations.AddField(
            model_name='waitingarrival',
            name='amount',
            field=chains.fields.BaseUnitsField(db_default=0, default=0),
        ),
        migrations.AddConstraint(
            model_name='waitingarrival',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('amount__gte', 0), ('amount__lte', 115792089237316195423570985008687907853269984665640564039457584007913129639935)), ('amount__isnull', True), _connector='OR'), name='waiting_arrival_amount_is_uint256'),
        ),
    ]
