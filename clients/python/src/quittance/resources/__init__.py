"""The API's calls, by resource."""
