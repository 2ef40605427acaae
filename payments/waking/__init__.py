"""Start verification on new blocks and new payments, without waiting for the schedule. Beat's schedule remains as a
fallback.
"""
