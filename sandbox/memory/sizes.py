"""Bytes in words: decimal units, as disks and memory bandwidths are given."""

UNITS = ("B", "kB", "MB", "GB", "TB")


def format_bytes(nbytes: float) -> str:
    """Return "804 B", "42.8 kB", "1.50 GB": three digits that count; 1 kB is 1,000 bytes."""
    size, unit = float(nbytes), 0
    while abs(size) >= 999.5 and unit < len(UNITS) - 1:
        size, unit = size / 1000, unit + 1
    if unit == 0:
        return f"{size:.0f} B"
    num_decimals = 2 if abs(size) < 9.995 else 1 if abs(size) < 99.95 else 0
    return f"{size:.{num_decimals}f} {UNITS[unit]}"
