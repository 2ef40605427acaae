"""Shared by all endpoints: the error shape, strict JSON, request ids."""
