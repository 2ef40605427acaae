"""Payment links: create and change them, and create payment requests by them."""
