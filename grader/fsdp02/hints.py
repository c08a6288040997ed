"""The hints of fsdp02, in tiers: a nudge, a direction, nearly the answer."""

from grader.hints import Hints

TIERS = {
    1: (
        "How many elements are missing to the next multiple of world_size? None, if it divides.",
        "-numel % world_size zeros go to the end. Slices and chunks of a tensor are views of it.",
        "torch.cat of reshape(-1); torch.nn.functional.pad; flat.chunk(world_size)[rank].",
    ),
    2: (
        "Which tensors does the optimizer have to know? It makes moments for each of them.",
        "Flatten the gradients as the parameters are: then they have the same partitions.",
        "reduce_scatter_tensor(shard.grad, gradients, op=AVG); step; all_gather_into_tensor.",
    ),
    3: (
        "Which gradient is complete first in backward: the first layer's or the last's?",
        "reduce_gradients is zero1_step without its step, and it adds instead of setting.",
        "Reduce into torch.empty_like(shard), add that to shard.grad, then parameter.grad = None.",
    ),
    4: (
        "Whose memory is it? Every view of `whole` shares one storage.",
        "whole.untyped_storage().resize_(number of bytes) works in both directions.",
        "gather: resize_(numel * itemsize), then all_gather_into_tensor. release: resize_(0).",
    ),
    5: (
        "Which parameters are in no block? Which of all are frozen?",
        "Per block, and for the rest, up to two lists: trained and frozen. Leave empty ones out.",
        "in_blocks = set(model.blocks.parameters()); AdamW gets the shards that need a gradient.",
    ),
    6: (
        "Which of the three sums does each stage divide?",
        "share = ceil(num_params / world_size). Mixed: 2 + 2 + 12 bytes, all fp32: 4 + 4 + 8.",
        "states * (share if stage >= 1 else num_params), and so on for gradients and parameters.",
    ),
    7: (
        "How often do Ψ elements go round the ring in a step?",
        "Twice at stages 0, 1 and 2, three times at stage 3.",
        "times * num_params * itemsize * (world_size - 1) / world_size.",
    ),
    8: (
        "Print fsdp02.explain_ds_config(ds_config(3, 2, 1, 1), world_size=2) and read it.",
        "Build the dict of zero_optimization first: which keys does each stage know?",
        "train_batch_size = micro_batch_size * accumulation_steps * world_size.",
    ),
    9: (
        "Three calls per micro-batch, all of them the engine's.",
        "The engine scales the loss and counts the micro-batches: no division and no `if`.",
        "loss = toys.next_token_loss(engine(tokens), tokens); engine.backward(loss); then step.",
    ),
    10: (
        "What does a parameter's shape say outside of forward and backward?",
        "GatheredParameters takes a list of parameters, and is collective: no `if rank == 0`.",
        "with deepspeed.zero.GatheredParameters(list(model.parameters())): clone each weight.",
    ),
    11: (
        "What does load_checkpoint of the engine return?",
        "client_state is a dict of yours that travels with the checkpoint.",
        "_, client_state = engine.load_checkpoint(directory); return client_state[…].",
    ),
}

hint = Hints(TIERS).show
