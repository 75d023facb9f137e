"""The built-in divisions of the cluster among queues."""
