"""KAI (`scheduling.run.ai`): its PodGroups, Queues and the labels of its users' pods."""
