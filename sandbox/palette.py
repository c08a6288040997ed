"""The colours of every picture: one meaning each, safe for colour-blind readers."""

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
}
# JupyterLab's own variables, with what a static page on white gets.
TEXT = "var(--jp-ui-font-color0, #000)"
FONT = "var(--jp-ui-font-family, sans-serif)"
