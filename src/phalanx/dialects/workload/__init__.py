"""The Workload API of Kubernetes (`scheduling.k8s.io`): Workloads of 1.35, PodGroups of 1.36 and 1.37."""
