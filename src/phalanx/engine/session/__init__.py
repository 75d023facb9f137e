"""The session: one cycle's working copy of the books, with a way back to any earlier moment."""
