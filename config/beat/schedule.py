"""What beat sends to the workers and how often, in seconds, and how both use the broker."""

from typing import Any

TRANSPORT: dict[str, Any] = {
    "visibility_timeout": 300,
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    "health_check_interval": 15,
    "retry_on_timeout": True,
}

# A nudge that waited longer than its own period has been overtaken by a newer one.
SCHEDULE: dict[str, dict[str, Any]] = {
    "look at due payments": {"task": "payments.tasks.verify_due", "schedule": 1.0, "options": {"expires": 5}},
    "follow swaps": {"task": "payments.tasks.follow_swaps", "schedule": 1.0, "options": {"expires": 5}},
    "look at finality": {
        "task": "payments.tasks.check_finality",
        "schedule": 10.0,
        "options": {"expires": 20},
    },
    "find unsubmitted": {"task": "payments.tasks.discover_due", "schedule": 5.0, "options": {"expires": 10}},
    "expire due requests": {"task": "payments.tasks.expire_due", "schedule": 2.0, "options": {"expires": 10}},
    "value payments": {"task": "payments.tasks.value_due", "schedule": 2.0, "options": {"expires": 5}},
    "mail about late payments": {
        "task": "payments.tasks.mail_late_payments",
        "schedule": 60.0,
        "options": {"expires": 50},
    },
    "decide simulated payments": {
        "task": "payments.tasks.decide_simulated",
        "schedule": 2.0,
        "options": {"expires": 5},
    },
    "keep token lists": {
        "task": "payments.tasks.keep_token_lists",
        "schedule": 60.0,
        "options": {"expires": 50},
    },
    "keep figures": {"task": "payments.tasks.keep_figures", "schedule": 60.0, "options": {"expires": 50}},
    "purge idempotency keys": {
        "task": "merchants.tasks.purge_idempotency_keys",
        "schedule": 20.0,
        "options": {"expires": 15},
    },
    "check chains": {"task": "chains.tasks.check_chains", "schedule": 30.0, "options": {"expires": 25}},
    "tell merchants of failing webhooks": {
        "task": "webhooks.tasks.tell_merchants",
        "schedule": 60.0,
        "options": {"expires": 50},
    },
    "purge old webhooks": {"task": "webhooks.tasks.purge_old", "schedule": 30.0, "options": {"expires": 25}},
    "keep webhook partitions": {
        "task": "webhooks.tasks.keep_partitions",
        "schedule": 60.0,
        "options": {"expires": 50},
    },
    "deliver due webhooks": {
        "task": "webhooks.tasks.deliver_due",
        "schedule": 1.0,
        "options": {"expires": 5},
    },
}
