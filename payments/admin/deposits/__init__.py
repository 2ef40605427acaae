"""The portal's pages of deposit addresses."""
