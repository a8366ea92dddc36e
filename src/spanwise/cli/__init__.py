"""The command line: one module for each verb, which parses, calls and prints."""
