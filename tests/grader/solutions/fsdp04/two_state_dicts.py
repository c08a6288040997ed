"""Model and optimizer collected apart; the reader tells which entries the checkpoint has."""

from torch.distributed.checkpoint.state_dict import (
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)


def collect(state):
    return {
        "model": get_model_state_dict(state.model),
        "optimizer": get_optimizer_state_dict(state.model, state.optimizer),
        "progress": {"scheduler": state.scheduler.state_dict(), "step": state.step},
    }


def save_shards(directory, state):
    rng = {f"rng.{dist.get_world_size()}.{dist.get_rank()}": torch.get_rng_state()}
    writer = dcp.FileSystemWriter(directory, single_file_per_rank=False, thread_count=2)
    dcp.save({**collect(state), **rng}, storage_writer=writer)


def load_shards(directory, state):
    reader = dcp.FileSystemReader(directory)
    loaded = collect(state)
    key = f"rng.{dist.get_world_size()}.{dist.get_rank()}"
    if key in reader.read_metadata().state_dict_metadata:
        loaded[key] = torch.empty_like(torch.get_rng_state())
    dcp.load(loaded, storage_reader=reader)
    set_model_state_dict(state.model, loaded["model"])
    set_optimizer_state_dict(state.model, state.optimizer, loaded["optimizer"])
    state.scheduler.load_state_dict(loaded["progress"]["scheduler"])
    state.step = loaded["progress"]["step"]
    if key in loaded:
        torch.set_rng_state(loaded[key])
