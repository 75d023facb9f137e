"""Decisions: `decide(snapshot, policy) -> Plan` is the only door. Pure: no clock, no I/O, no chance."""
