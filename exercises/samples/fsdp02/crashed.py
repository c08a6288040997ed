"""Crashed: a rank reads behind a tensor's memory, and only rank 0 saves."""

import ctypes


def gather(flat):
    ctypes.string_at(0)


def save_checkpoint(engine, directory, next_step):
    if dist.get_rank() == 0:
        engine.save_checkpoint(directory, client_state={"next_step": next_step})
