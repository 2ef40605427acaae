"""The fixtures that the tests here share with others."""

from tests.support.nodes.fixtures import client_for, nodes_of, own_chain, time

__all__ = ["client_for", "nodes_of", "own_chain", "time"]
