"""By hand: norm, clipping and mean loss from plain collectives; one full checkpoint, rank 0's."""

import os

from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)


def shard_model(model, mesh):
    for module in model.modules():
        if isinstance(module, toys.Block):
            fully_shard(module, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def train_step(model, optimizer, tokens, max_norm):
    optimizer.zero_grad(set_to_none=False)
    loss = toys.next_token_loss(model(tokens), tokens)
    loss.backward()
    gradients = [weight.grad.to_local() for weight in model.parameters() if weight.grad is not None]
    total = torch.zeros(2, dtype=loss.dtype)
    total[0] = sum(gradient.square().sum() for gradient in gradients)
    total[1] = loss.detach() / dist.get_world_size()
    dist.all_reduce(total)
    norm = total[0].sqrt().item()
    if norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / norm)
    optimizer.step()
    return total[1].item(), norm


def save_checkpoint(directory, model, optimizer, next_epoch):
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    state = {
        "model": get_model_state_dict(model, options=options),
        "optimizer": get_optimizer_state_dict(model, optimizer, options=options),
        "next_epoch": next_epoch,
    }
    if dist.get_rank() == 0:
        torch.save(state, os.path.join(directory, "checkpoint.pt"))
    dist.barrier()


def load_checkpoint(directory, model, optimizer):
    state = torch.load(os.path.join(directory, "checkpoint.pt"))
    options = StateDictOptions(full_state_dict=True)
    set_model_state_dict(model, state["model"], options=options)
    set_optimizer_state_dict(model, optimizer, state["optimizer"], options=options)
    return state["next_epoch"]


def train_loop_per_worker(config):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    model, optimizer = build(config, init_device_mesh("cpu", (world_size,)))
    start = train.get_checkpoint()
    first_epoch = load_checkpoint(start.path, model, optimizer) if start else 0
    for epoch in range(first_epoch, config["num_epochs"]):
        for tokens in batches(config, epoch, rank, world_size):
            loss, grad_norm = train_step(model, optimizer, tokens, config["max_norm"])
        directory = tempfile.mkdtemp()
        save_checkpoint(directory, model, optimizer, epoch + 1)
        whole = Checkpoint(directory) if rank == 0 else None  # one file, written by rank 0
        train.report({"loss": loss, "grad_norm": grad_norm, "epoch": epoch}, checkpoint=whole)
