"""Koordinator: parts of GPUs as its DeviceShare plugin gives them out."""
