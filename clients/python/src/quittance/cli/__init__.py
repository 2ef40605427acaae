"""The `quittance` command.

It is built on argparse, so that a merchant's server that installs the library gets no packages for a command line that
it never runs.
"""
