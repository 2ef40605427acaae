"""Finding transactions on an EVM chain: queries for logs, and the blocks of a time."""
