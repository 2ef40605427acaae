"""Create payment requests and payment links in the portal, and share them."""
