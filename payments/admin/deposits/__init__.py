"""The portal's pages about deposit addresses."""
