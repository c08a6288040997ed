"""Take out, before a graded cell, what answers have hung into IPython, tracing and imports."""

# Without expression statements: an answer's own transformer of syntax trees may drop those.
CODE = """
import sys, threading
from IPython.core.inputtransformer2 import TransformerManager as _Manager
_shell = get_ipython()
_shell.ast_transformers = []
_shell.input_transformers_post = []
_shell.input_transformer_manager = _Manager()
_shell.events.callbacks = {_event: [] for _event in _shell.events.callbacks}
for _set in (sys.settrace, sys.setprofile, threading.settrace, threading.setprofile):
    _unset = _set(None)
sys.meta_path[:] = [
    _finder
    for _finder in sys.meta_path
    if (_finder if isinstance(_finder, type) else type(_finder)).__module__ != "__main__"
]
"""
