"""Plugins to copy from: one file, one class, one idea each."""
