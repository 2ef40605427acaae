"""Harbour Coffee: a small shop that uses Quittance for payments, like any merchant."""
