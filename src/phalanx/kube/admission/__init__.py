"""Admission without a webhook: policies in the API server's own expression language, generated from our tables."""
