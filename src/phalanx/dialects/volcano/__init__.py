"""Volcano (`scheduling.volcano.sh`, `batch.volcano.sh`): PodGroups, Queues and Jobs, as its users write them."""
