"""Jobs through their lives under Volcano's own controller and under ours, field by field: `make lives`."""
