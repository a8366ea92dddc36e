"""The evaluators: one frozen value each, called on a run."""
