"""Waiting units: in which order they are decided, how they are passed over, and what is kept for them."""
