"""The colours of every picture: one meaning each, safe for colour-blind readers."""

import enum

from sandbox.event import Op

# Okabe and Ito's palette; a fill always carries an outline in the text colour.
MEMORY = {
    "parameters": "#0072B2",
    "gradients": "#E69F00",
    "optimizer": "#009E73",
    "activations": "#CC79A7",
    "unsharded": "#56B4E9",
    "buffers": "#F0E442",
    "other": "#999999",
}
OPERATIONS = {
    "all_gather": "#56B4E9",
    "reduce_scatter": "#E69F00",
    "all_reduce": "#D55E00",
    "broadcast": "#0072B2",
    "all_to_all": "#CC79A7",
    "send": "#009E73",
    "recv": "#009E73",
    "barrier": "#999999",
    "coalesced": "#F0E442",
}
COMPUTE = "#80808030"  # neutral: translucent grey, on a light and on a dark ground
# JupyterLab's own variables, with what a static page on white gets.
TEXT = "var(--jp-ui-font-color0, #000)"
GROUND = "var(--jp-layout-color0, #fff)"
FONT = "var(--jp-ui-font-family, sans-serif)"

# There are no more safe colours: these have that of what they resemble, and dots on it.
_DOTTED = {
    Op.REDUCE: "all_reduce",
    Op.GATHER: "all_gather",
    Op.SCATTER: "broadcast",
    Op.RECV: "send",
    Op.MONITORED_BARRIER: "barrier",
}


class Texture(enum.Enum):
    """What lies over a fill."""

    NONE = ""
    HATCH = "hatch"  # waiting, or padding
    DOTS = "dots"  # an operation that has its colour from another one
    BARS = "bars"  # paused


def of_operation(op: Op) -> str:
    """Return the fill of an operation; grey for what moves no data."""
    return OPERATIONS.get(_DOTTED.get(op, op.value), OPERATIONS["barrier"])


def texture_of(op: Op) -> Texture:
    """Return what lies over the fill of an operation."""
    return Texture.DOTS if op in _DOTTED else Texture.NONE


def on(fill: str) -> str:
    """Return black or white, whichever is easier to read on a fill (WCAG's relative luminance)."""
    channels = [int(fill[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "#fff"
