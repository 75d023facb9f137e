"""Kubernetes' own objects, which every dialect shares: pods, nodes, namespaces, classes, disruption budgets."""
