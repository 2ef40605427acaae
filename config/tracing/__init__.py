"""Record pieces of work; `config.observe.spans` sends them."""
