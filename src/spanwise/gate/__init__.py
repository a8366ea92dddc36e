"""Gates: what scores must be for a build to pass, and the verdict."""
