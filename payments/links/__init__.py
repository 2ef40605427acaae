"""Create and change payment links, and create payment requests from them."""
