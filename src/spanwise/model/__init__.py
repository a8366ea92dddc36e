"""The canonical model: what a trace is, what a run tells, what a score says."""
