"""What each rank holds in memory: measured by category, over time, and predicted by formula."""
