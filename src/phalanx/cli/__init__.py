"""The command line: one file per command. Each stays light until it is called, so that `--help` is quick."""
