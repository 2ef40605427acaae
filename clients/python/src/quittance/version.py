"""The version of this package. It is also sent to the service."""

__version__ = "0.1.0"
