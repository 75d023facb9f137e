"""Dialects: Kubernetes objects to events, and outcomes to what is written back. Pure.

A dialect is one file or folder and one row in `table`; `dialect` says what a row is, `read` is the door.
"""
