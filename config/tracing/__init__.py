"""What is traced, for everything that is: `config.observe.spans` sends it."""
