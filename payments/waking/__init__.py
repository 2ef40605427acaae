"""Verification without waiting for the clock: new blocks and new payments wake it. Beat remains the safety net."""
