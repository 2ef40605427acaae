"""Harbour Coffee: a small shop that takes its payments through Quittance, as any merchant would."""
