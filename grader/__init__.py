"""Prove what a learner's answer did on ranks, and name the mistake where it is wrong."""
