"""Where results go: one file a destination."""
