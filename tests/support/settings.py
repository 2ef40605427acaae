"""Valid settings, and the error messages for wrong ones."""

from base64 import urlsafe_b64encode

from config.environment import SettingsError
from config.environment.checking import check

KEY = urlsafe_b64encode(b"0123456789abcdef" * 2).decode()
RIGHT = {
    "SECRET_KEY": "Wm3" * 20 + "-xyz",
    "ENCRYPTION_KEYS": KEY,
    "ENVIRONMENT": "staging",
    "BASE_URL": "https://pay.example.com",
    "CHECKOUT_URL": "https://pay.example.com",
    "ALLOWED_HOSTS": "pay.example.com",
    "DATABASE_URL": "postgresql://user:password@db.example:5432/quittance",
    "REDIS_URL": "redis://127.0.0.1:6379/0",
}
NODES = ("BASE_RPC_URL", "BASE_RPC_URL_2")
# A secret that no error message may contain.
PASSWORD = "hunter2"
# A Solana key pair, as bytes and in base58.
KEY_PAIR = bytes.fromhex(
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
    "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
)
KEY_PAIR_TEXT = "1GMkH3brNXiNNs1tiFZHu4yZSRrzJwxi5wB9bHFtMikjwpAW9DMZzU2Pqakc5it8X3N5vPmqdN7KF4CCUpmKhq"


def faults_of(**different: str) -> list[str]:
    """Return the error messages for the valid settings with these changes."""
    try:
        check({**RIGHT, **different}, nodes=NODES)
    except SettingsError as error:
        return str(error).split("\n")
    return []
