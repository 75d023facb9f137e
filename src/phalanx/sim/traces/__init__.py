"""Traces: what clusters really ran, as rows of CSV files, made into lines of a scenario."""
