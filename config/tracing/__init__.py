"""Record pieces of work for traces. `config.observe.spans` sends them."""
