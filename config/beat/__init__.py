"""What is sent to the workers by the clock, and the process that sends it."""
