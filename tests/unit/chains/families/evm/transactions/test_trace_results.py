"""Some errors of a node mean that it doesn't support traces. Others mean that only one trace failed."""

import pytest

from chains.families.evm.transactions.trace_results import is_unsupported
from chains.rpc.json_rpc import RpcFault


@pytest.mark.parametrize(
    "fault",
    [
        RpcFault(-32601, "Method not found"),
        RpcFault(-32000, "the method debug_traceTransaction does not exist/is not available"),
        RpcFault(-32004, "no"),
        RpcFault(-32600, "debug_traceTransaction is not available on the free tier"),
        RpcFault(-32603, "Unsupported method: debug_traceTransaction"),
        RpcFault(-32600, "debug_traceTransaction is not available on the Free plan"),
    ],
    ids=range(6),
)
def test_error_of_a_node_without_traces_is_recognised(fault: RpcFault) -> None:
    assert is_unsupported(fault)


@pytest.mark.parametrize(
    "fault",
    [RpcFault(-32000, "missing trie node 51ab (path )"), RpcFault(-32005, "daily request count exceeded")],
    ids=range(2),
)
def test_other_errors_do_not_mean_that_traces_are_missing(fault: RpcFault) -> None:
    assert not is_unsupported(fault)
