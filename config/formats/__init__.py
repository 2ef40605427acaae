"""How dates are written on pages, per language."""
