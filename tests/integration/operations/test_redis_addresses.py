"""Each form of `REDIS_URL` works for the cache, rate limits, heartbeat, beat, a worker and doctor."""

import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis import Redis

from demo.services import redis as redis_server
from demo.services.process import free_port, spawn
from tests.processes import eventually
from tests.support.operations.programs import output_of
from tests.support.operations.tls_proxy import make_certificate
from tests.support.wire import running_wire

ALL_USES = """
import django; django.setup()
from uuid import uuid4
from django.conf import settings
from django.core.cache import cache
from limits import parse
from config.api.limits import rate_limits
from config.beat.celery import app as beat
from config.beat.heartbeat import Heart, age
from config.celery import app as worker
from config.doctor import redis as doctor

cache.set("a", 1.5)
assert cache.get("a") == 1.5
one, someone = parse("1/hour"), uuid4().hex
assert rate_limits.hit("test", someone, one) is None
assert rate_limits.hit("test", someone, one) is not None
Heart(settings.REDIS_URL).beat()
assert age(settings.REDIS_URL) is not None
with beat.connection_for_write() as sending, worker.connection_for_read() as receiving:
    sending.SimpleQueue("celery").put({"task": 1})
    assert receiving.SimpleQueue("celery").get(timeout=60).payload == {"task": 1}
print([finding.summary for finding in doctor.check()][0])
"""


def use_all(url: str) -> None:
    assert output_of(ALL_USES, REDIS_URL=url) == "responds and accepts writes\n"


@pytest.fixture(scope="module")
def server() -> Iterator[redis_server.Redis]:
    running = redis_server.start(None)
    with Redis.from_url(running.url) as client:
        client.acl_setuser(
            "quittance", enabled=True, passwords=["+p@ss:word"], keys=["*"], commands=["+@all"]
        )
        client.config_set("requirepass", "only:for@tests")
    yield running
    running.stop()


def test_password_is_used(server: redis_server.Redis) -> None:
    use_all(f"redis://:only%3Afor%40tests@127.0.0.1:{urlsplit(server.url).port}/1")


def test_user_of_an_access_list_is_used(server: redis_server.Redis) -> None:
    use_all(f"redis://quittance:p%40ss%3Aword@127.0.0.1:{urlsplit(server.url).port}/2")


def test_encrypted_connections_require_a_valid_certificate(
    server: redis_server.Redis, tmp_path: Path
) -> None:
    certificate = make_certificate(tmp_path / "redis.pem", days=1)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with running_wire(("127.0.0.1", urlsplit(server.url).port or 0), context) as wire:
        address = f"rediss://quittance:p%40ss%3Aword@127.0.0.1:{wire.port}/3"
        use_all(f"{address}?ssl_ca_certs={certificate}")
        with pytest.raises(AssertionError, match="CERTIFICATE_VERIFY_FAILED"):
            use_all(address)


@pytest.fixture
def sentinels(tmp_path: Path) -> Iterator[tuple[str, list[redis_server.Redis]]]:
    """The URL of two Sentinels, and the primary and replica that they monitor."""
    with ExitStack() as running:
        servers = [redis_server.start(None) for _ in range(2)]
        for server in servers:
            running.callback(server.stop)
            with Redis.from_url(server.url) as client:
                client.config_set("requirepass", "only-for-tests")
                client.config_set("masterauth", "only-for-tests")
        ports = [urlsplit(server.url).port for server in servers]
        with Redis.from_url(servers[1].url, password="only-for-tests") as client:
            client.execute_command("REPLICAOF", "127.0.0.1", ports[0])
        places = []
        for _ in range(2):
            port = free_port()
            file = tmp_path / f"sentinel-{port}.conf"
            file.write_text(
                f"port {port}\nbind 127.0.0.1\nsentinel monitor shop 127.0.0.1 {ports[0]} 1\n"
                "sentinel auth-pass shop only-for-tests\n"
            )
            child = spawn("Sentinel", [redis_server.program(), file, "--sentinel"], tmp_path / f"{port}.log")
            running.callback(child.stop)
            with Redis(port=port) as sentinel:
                child.await_ready(lambda client=sentinel: knows_replica(client), 60, "")
            places.append(f"127.0.0.1:{port}")
        yield f"redis+sentinel://:only-for-tests@{','.join(places)}/shop/1", servers


def knows_replica(sentinel: "Redis") -> bool:
    try:
        return bool(sentinel.sentinel_master("shop")["num-slaves"])
    except Exception:
        return False


def test_sentinels_name_the_primary(sentinels: tuple[str, list[redis_server.Redis]]) -> None:
    url, servers = sentinels
    use_all(url)
    with Redis.from_url(servers[1].url, password="only-for-tests") as replica:
        with Redis(port=int(urlsplit(url).netloc.rpartition(":")[2])) as sentinel:
            sentinel.execute_command("SENTINEL", "FAILOVER", "shop")
        eventually(lambda: replica.info("replication")["role"] == "master", "the replica is promoted")
    use_all(url)
