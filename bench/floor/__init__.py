"""The floor of the API's benchmark: bare Django REST framework views on the same server and database."""
