"""The whole service under real faults: its processes, PostgreSQL and Redis are killed while customers pay.

`python -m tests.integration.chaos.run` makes 1,000 payments; `test_chaos.py` makes fewer.
"""
