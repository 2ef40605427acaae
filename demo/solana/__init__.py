"""The local Solana chain's test token, and a script's way to sign and send."""
