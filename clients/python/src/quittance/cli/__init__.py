"""The `quittance` command.

It uses argparse, so that installing the library on a merchant's server adds no packages for the command line.
"""
