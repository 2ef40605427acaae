"""Transfers by signature (EIP-3009): what the payer signs, who signed, and the call that makes the transfer."""
