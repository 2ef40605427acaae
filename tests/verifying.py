"""The verification engine as the workers run it: with the handler of swaps."""

from functools import partial

from payments.swaps import deliveries
from payments.verification import engine

verify_due = partial(engine.verify_due, swaps=deliveries)
verify_on_chain = partial(engine.verify_on_chain, swaps=deliveries)
