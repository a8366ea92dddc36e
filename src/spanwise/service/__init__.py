"""A service that takes spans by OTLP, scores them, and loses none."""
