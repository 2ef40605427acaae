"""Start verification at once when a block or a payment arrives. The schedule is only the fallback."""
