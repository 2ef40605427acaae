"""The test token of the local Solana chain, and functions to sign and send transactions."""
