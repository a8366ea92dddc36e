"""The live door: spans of a running app are scored when their run ends, and the app does not notice."""
