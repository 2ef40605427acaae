"""The schedule of tasks, in seconds, and the broker's options for beat and the workers."""

from typing import Any

TRANSPORT: dict[str, Any] = {
    "visibility_timeout": 300,
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    "health_check_interval": 15,
    "retry_on_timeout": True,
}

# A task that waits too long expires, because beat has sent a newer task meanwhile.
SCHEDULE: dict[str, dict[str, Any]] = {
    "wake verification": {
        "task": "payments.tasks.wake_verification",
        "schedule": 1.0,
        "options": {"expires": 5},
    },
    "wake swaps": {"task": "payments.tasks.wake_swaps", "schedule": 1.0, "options": {"expires": 5}},
    "wake finality": {
        "task": "payments.tasks.wake_finality",
        "schedule": 10.0,
        "options": {"expires": 20},
    },
    "wake discovery": {"task": "payments.tasks.wake_discovery", "schedule": 5.0, "options": {"expires": 10}},
    "wake proposals": {"task": "payments.tasks.wake_proposals", "schedule": 5.0, "options": {"expires": 10}},
    "wake looks": {"task": "payments.tasks.wake_looks", "schedule": 60.0, "options": {"expires": 50}},
    "wake relays": {"task": "payments.tasks.wake_relays", "schedule": 2.0, "options": {"expires": 5}},
    "wake authorizations": {
        "task": "payments.tasks.wake_authorizations",
        "schedule": 2.0,
        "options": {"expires": 5},
    },
    "check sponsor balances": {
        "task": "payments.tasks.check_sponsor_balances",
        "schedule": 60.0,
        "options": {"expires": 50},
    },
    "expire requests": {
        "task": "payments.tasks.expire_requests",
        "schedule": 2.0,
        "options": {"expires": 10},
    },
    "wake values": {"task": "payments.tasks.wake_values", "schedule": 2.0, "options": {"expires": 5}},
    "wake late mails": {
        "task": "payments.tasks.wake_late_mails",
        "schedule": 60.0,
        "options": {"expires": 50},
    },
    "wake mails": {"task": "merchants.tasks.wake_mails", "schedule": 2.0, "options": {"expires": 5}},
    "check notices": {"task": "payments.tasks.check_notices", "schedule": 60.0, "options": {"expires": 50}},
    "decide simulated payments": {
        "task": "payments.tasks.decide_simulated",
        "schedule": 2.0,
        "options": {"expires": 5},
    },
    "refresh token lists": {
        "task": "payments.tasks.refresh_token_lists",
        "schedule": 60.0,
        "options": {"expires": 50},
    },
    "update statistics": {
        "task": "payments.tasks.update_statistics",
        "schedule": 60.0,
        "options": {"expires": 50},
    },
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
    "wake deliveries": {
        "task": "webhooks.tasks.wake_deliveries",
        "schedule": 1.0,
        "options": {"expires": 5},
    },
}
