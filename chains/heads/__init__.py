"""New blocks as they come, as hints: what they wake asks the nodes itself."""
