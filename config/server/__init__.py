"""How the web process receives requests: whole and in time, before a thread is given to them."""
