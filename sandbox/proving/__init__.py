"""Prove from what all ranks publish that they wait for each other, or do not agree."""
