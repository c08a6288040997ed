"""Launches that survive: ranks that die or join end a generation, and the next one starts."""
