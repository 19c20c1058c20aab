"""One module per command: `options(parser)` declares its flags, `run(**flags)` does the work and returns the exit code."""
