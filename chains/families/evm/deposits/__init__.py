"""Deposit addresses: forwarders that can only send to one recipient, and the factory that deploys them.

The contracts are in `contracts/` at the root of the repository; `contracts.json` here is their build.
"""
