"""Policy files: YAML in, a frozen `Policy` out, or every mistake with its file, line, key and what is allowed."""
