"""The API's calls, by what they are about."""
