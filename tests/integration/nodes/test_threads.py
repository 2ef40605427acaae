"""Threads share a client while its nodes fail and recover. No thread gets a wrong result."""

import threading
from collections.abc import Callable
from itertools import count

from chains.client import ChainError
from chains.families.evm.client import EvmClient
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy
from tests.support.nodes.fixtures import NodeTime

THREADS = 12
LOOKS = 10
FAULTS = (fault_proxy.server_error, fault_proxy.wrong_id, fault_proxy.reset, fault_proxy.forgetful)


def test_threads_share_a_client_while_nodes_come_and_go(
    nodes_of: Callable[[int], list[FaultProxy]],
    client_for: Callable[[list[FaultProxy]], EvmClient],
    local_chain: LocalChain,
    time: NodeTime,
) -> None:
    hashes = [local_chain.transfer(local_chain.usdc, local_chain.recipient, n + 1) for n in range(THREADS)]
    nodes = nodes_of(3)
    client = client_for(nodes)
    right: list[int] = []
    wrong: list[object] = []
    working = [threading.Event() for _ in range(THREADS)]

    def look(number: int) -> None:
        wanted = hashes[number]
        try:
            for _ in range(LOOKS):
                try:
                    facts = client.look_up([wanted], with_finality=False).transactions[wanted]
                except ChainError:
                    continue
                client.health()
                if facts and facts.block:
                    amounts = [transfer.amount for transfer in facts.transfers]
                    (right if amounts == [number + 1] else wrong).append(number)
        except Exception as error:
            wrong.append(error)
        finally:
            working[number].set()

    for number in range(THREADS):
        threading.Thread(target=look, args=(number,), daemon=True).start()
    for turn in count():
        nodes[turn % 3].break_with(FAULTS[turn % 4])
        nodes[(turn - 1) % 3].heal()
        time.now += 5
        if all(done.wait(0.002) for done in working):
            break
    assert wrong == []
    assert len(right) > THREADS
