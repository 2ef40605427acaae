"""The schedule of tasks, and the process that sends them to the workers."""
