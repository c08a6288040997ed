"""Start ranks as processes, send them calls, hear from them, and leave none behind."""
