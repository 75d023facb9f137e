"""HAMi, and Volcano's vGPUs, which are HAMi's under other names: parts of GPUs as resources of a container."""
