"""Measurements beside a peer, in one run: `make bench`."""
