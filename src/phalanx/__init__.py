"""Phalanx: an AI-native workload scheduler for Kubernetes. All together, or not at all.

The folders are the stages that data flows through, always in this direction:

    bytes -> dialects -> model.events -> world -> Snapshot -> engine (actions x plugins) -> Plan -> cluster or sim
"""

__version__ = "0.1.0"
