"""Train the course's transformer with FSDP2 on as many hosts as there are.

On each host:         torchrun … docker/train.py
On a Ray cluster:     python docker/train.py --num-workers 4 --use-gpu --storage /work/runs

Ranks are one process per GPU, or any number on CPUs. On Ray every epoch ends with a checkpoint in
`--storage`, which all hosts must reach, and a lost worker costs no more than the epoch it was in.
"""

import argparse
import tempfile

import ray.train
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from ray.train import Checkpoint, FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, get_device
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from sandbox import toys

NUM_SAMPLES = 384
GLOBAL_BATCH_SIZE = 48
SEED = 0


def train_loop_per_worker(config: dict) -> None:
    """Train up to `num_epochs`, from the checkpoint if there is one. Every rank runs this."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    if GLOBAL_BATCH_SIZE % world_size:
        raise ValueError(f"world_size {world_size} does not divide {GLOBAL_BATCH_SIZE} samples.")
    device = get_device()
    model, optimizer = build(device, world_size)
    first_epoch = 0
    if checkpoint := ray.train.get_checkpoint():
        with checkpoint.as_directory() as directory:
            first_epoch = load(directory, model, optimizer)
    if first_epoch >= config["num_epochs"] and rank == 0:
        print(
            f"{first_epoch} epochs are trained, {config['num_epochs']} were asked for", flush=True
        )
    for epoch in range(first_epoch, config["num_epochs"]):
        for ids in batches(epoch):
            tokens = toys.token_samples(ids[rank::world_size]).to(device)
            loss = toys.next_token_loss(model(tokens), tokens)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        mean_loss = loss.detach().clone()
        dist.all_reduce(mean_loss, op=dist.ReduceOp.AVG)
        if rank == 0:
            what = f"epoch {epoch}: loss {mean_loss.item():.6f}"
            print(f"{what}, {world_size} ranks on {device.type}", flush=True)
        with tempfile.TemporaryDirectory() as directory:
            save(directory, model, optimizer, epoch + 1)
            ray.train.report(
                {"epoch": epoch, "loss": mean_loss.item()},
                checkpoint=Checkpoint.from_directory(directory),
            )


def build(device: torch.device, world_size: int) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    """Return the model, each block a unit and the rest the root's, and an AdamW over its shards."""
    mesh = init_device_mesh(device.type, (world_size,))
    model = toys.Transformer(seed=SEED).to(device)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def batches(epoch: int) -> list[list[int]]:
    """Return the sample ids of each global batch: the same whatever the number of ranks."""
    generator = torch.Generator().manual_seed(1_000 * SEED + epoch)
    order = torch.randperm(NUM_SAMPLES, generator=generator)
    return [ids.tolist() for ids in order.split(GLOBAL_BATCH_SIZE)]


def save(
    directory: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer, next_epoch: int
) -> None:
    """Write this rank's shards to `directory`. Collective: every rank must call this."""
    weights, moments = get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": moments, "next_epoch": next_epoch}
    dcp.save(state, checkpoint_id=directory)


def load(directory: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Restore from `directory`, whoever saved it; return the epoch to go on with. Collective."""
    weights, moments = get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": moments, "next_epoch": 0}
    dcp.load(state, checkpoint_id=directory)
    set_state_dict(
        model,
        optimizer,
        model_state_dict=state["model"],
        optim_state_dict=state["optimizer"],
    )
    return state["next_epoch"]


def main() -> None:
    """Let torchrun's processes be the ranks where it has started us; else let Ray start them."""
    parser = argparse.ArgumentParser(description="Train the course's transformer with FSDP2.")
    parser.add_argument("--num-epochs", type=int, default=4)
    parser.add_argument("--num-workers", type=int, help="ranks, on Ray; torchrun has its own")
    parser.add_argument("--use-gpu", action="store_true", help="one GPU per rank, on Ray")
    parser.add_argument("--storage", help="a directory that all hosts reach, on Ray")
    options = parser.parse_args()
    if dist.is_torchelastic_launched():
        scaling, run = ScalingConfig(num_workers=0), None  # 0: the calling processes are the ranks
    elif options.num_workers and options.storage:
        scaling = ScalingConfig(num_workers=options.num_workers, use_gpu=options.use_gpu)
        run = RunConfig(
            name="shardlab-train",
            storage_path=options.storage,
            failure_config=FailureConfig(max_failures=3),
        )
    else:
        parser.error("start this with torchrun, or give --num-workers and --storage for Ray.")
    TorchTrainer(
        train_loop_per_worker,
        train_loop_config={"num_epochs": options.num_epochs},
        scaling_config=scaling,
        run_config=run,
    ).fit()


if __name__ == "__main__":
    main()
