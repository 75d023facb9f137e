"""The vocabulary: one word per idea, values without behaviour beyond arithmetic."""
