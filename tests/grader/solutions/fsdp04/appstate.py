"""A Stateful, as torch's DCP tutorial has it; scheduler and random states in files of their own."""

import copy

from torch.distributed.checkpoint.stateful import Stateful


class App(Stateful):
    def __init__(self, state):
        self.state = state

    def state_dict(self):
        model, optimizer = get_state_dict(self.state.model, self.state.optimizer)
        return {"model": model, "optim": optimizer, "step": torch.tensor(self.state.step)}

    def load_state_dict(self, loaded):
        set_state_dict(
            self.state.model,
            self.state.optimizer,
            model_state_dict=loaded["model"],
            optim_state_dict=loaded["optim"],
        )
        self.state.step = int(loaded["step"])


def collect(state):
    return {"app": App(state)}


def save_shards(directory, state):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    dcp.save({"app": App(state)}, checkpoint_id=directory)
    torch.save(torch.get_rng_state(), Path(directory, f"rng-{rank}-of-{world_size}.pt"))
    if rank == 0:
        torch.save(state.scheduler.state_dict(), Path(directory, "scheduler.pt"))
    dist.barrier()


def load_shards(directory, state):
    dcp.load({"app": App(state)}, checkpoint_id=directory)
    state.scheduler.load_state_dict(torch.load(Path(directory, "scheduler.pt")))
    rng = Path(directory, f"rng-{dist.get_rank()}-of-{dist.get_world_size()}.pt")
    if rng.exists():
        torch.set_rng_state(torch.load(rng))


def save_async(root, state, group, previous):
    if previous is not None:
        previous.result()
    writing = Path(root, f"writing-{state.step:06}")
    scheduler, rng = copy.deepcopy(state.scheduler.state_dict()), torch.get_rng_state()
    rank, world_size = dist.get_rank(), dist.get_world_size()
    written = dcp.async_save({"app": App(state)}, checkpoint_id=writing, process_group=group)
    step = state.step

    def commit():
        written.result()
        torch.save(rng, writing / f"rng-{rank}-of-{world_size}.pt")
        dist.barrier(group)
        if rank == 0:
            torch.save(scheduler, writing / "scheduler.pt")
            write_record(writing)
            os.replace(writing, Path(root, f"step-{step:06}"))
        dist.barrier(group)

    return ThreadPoolExecutor(1).submit(commit)
