"""A stand-in for GPUs: launches that would run on them run on gloo, and say that it was NCCL."""

import dataclasses

import sandbox
from sandbox import backend


def pretend(monkeypatch, num_gpus):
    """Have this process believe in `num_gpus` GPUs until the test ends."""
    launch = sandbox.launch

    def launch_as_if(*args, world_size=4, **options):
        chosen, _ = backend.choose(options.pop("backend", "auto"), world_size)
        run = launch(*args, world_size=world_size, backend="gloo", **options)
        return dataclasses.replace(run, backend=chosen)

    monkeypatch.setattr(backend, "has_nvidia_driver", lambda: True)
    monkeypatch.setattr(backend, "count_gpus", lambda: num_gpus)
    monkeypatch.setattr("sandbox.launch", launch_as_if)
