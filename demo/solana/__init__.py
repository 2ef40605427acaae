"""The local Solana chain's test token, and functions for scripts to sign and send transactions."""
