"""The page of a payment link."""
