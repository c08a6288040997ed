"""See every collective of a rank, whoever makes it, and publish it outside the process."""
