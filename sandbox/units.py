"""Bytes and times in words: decimal units, three digits that count, never 0.00 s."""

from __future__ import annotations

BYTES = ("B", "kB", "MB", "GB", "TB")
TIMES = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))


def format_bytes(nbytes: float) -> str:
    """Return "804 B", "42.8 kB", "1.50 GB"; 1 kB is 1,000 bytes."""
    size, unit = float(nbytes), 0
    while abs(size) >= 999.5 and unit < len(BYTES) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.0f} B" if unit == 0 else f"{_three_digits(size)} {BYTES[unit]}"


def format_time(time_s: float) -> str:
    """Return "1.25 s", "36.0 ms" or "12.3 µs"."""
    unit, size = next((entry for entry in TIMES if abs(time_s) >= 0.9995 * entry[1]), ("µs", 1e-6))
    return "0 s" if time_s == 0 else f"{_three_digits(time_s / size)} {unit}"


def _three_digits(size: float) -> str:
    num_decimals = 2 if abs(size) < 9.995 else 1 if abs(size) < 99.95 else 0
    return f"{size:,.{num_decimals}f}"
