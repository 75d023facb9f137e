"""NodeResourceTopology: the NUMA nodes of a node, as agents beside the kubelet publish them."""
