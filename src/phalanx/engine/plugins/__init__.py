"""Plugins: one file, one class, one idea each. They see whole arrays and keep no memory."""
