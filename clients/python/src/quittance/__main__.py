"""`python -m quittance` is the `quittance` command."""

from quittance.cli.main import run

if __name__ == "__main__":
    run()
