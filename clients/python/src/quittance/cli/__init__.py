"""The `quittance` command.

It uses argparse. So a merchant's server needs no additional packages for the command line.
"""
