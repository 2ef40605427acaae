"""The version of this package. Each call sends the version to the service."""

__version__ = "0.1.0"
