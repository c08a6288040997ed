"""The hints of fsdp01, in tiers: a nudge, a direction, nearly the answer."""

from grader.hints import Hints

TIERS = {
    1: (
        "5 rows on 4 ranks: how many rows is a full share, if nobody may hold more than that?",
        "A full share is ceil(num_rows / world_size) rows. Rank r starts after r full shares.",
        "Both ends may lie beyond the last row: cap each with min(…, num_rows).",
    ),
    2: (
        "What is whole in memory at the same time if the model is one single unit?",
        "The blocks are in model.blocks. A unit takes what no unit below it has taken.",
        "fully_shard(block, mesh=mesh) for each block, and then fully_shard(model, mesh=mesh).",
    ),
    3: (
        "Which object's parameters does the optimizer hold, and are they still the model's?",
        "Three lines, in this order: create, shard, optimizer.",
        "torch.optim.AdamW(model.parameters(), lr=…) after shard_model(model, mesh).",
    ),
    4: (
        "What must be the same on every rank: the shuffle, or the slice?",
        "torch.randperm(num_samples, generator=…) with a generator seeded from seed and epoch.",
        "order[rank::world_size] is one way to cut; equal contiguous pieces are another.",
    ),
    5: (
        "Which of the three numbers does FSDP2 average for you, and which not?",
        "The order is forward, backward, clip, step, zero_grad. clip_grad_norm_ returns the norm.",
        "dist.all_reduce(loss.detach().clone(), op=dist.ReduceOp.AVG) on a tensor that you keep.",
    ),
    6: (
        "What would AdamW have to guess if only the weights came back?",
        "Loading mirrors saving: get the states, let dcp.load fill them in place, set them.",
        'state = {"model": …, "optimizer": …, "next_epoch": 0}; dcp.load(state, checkpoint_id=…).',
    ),
    7: (
        "Which of your functions does each part of the loop need? It is all there.",
        "Resume first. Then for each epoch: the steps; a temporary directory; save; report.",
        "for epoch in range(first_epoch, …), and train.report once per epoch, on every rank.",
    ),
    8: (
        "Three objects, each with one setting that matters here.",
        "Nothing is typed in that is an argument: num_workers and storage_path are passed on.",
        "TorchTrainer(loop, train_loop_config=…, scaling_config=…, torch_config=…, run_config=…).",
    ),
    9: (
        "Rows are padded, not elements: what is the next multiple of world_size?",
        "ceil(rows / world_size) * world_size rows, each of the other dims' product of elements.",
        "A 1-D parameter has rows of one element: the product of no dims is 1.",
    ),
    10: (
        "Count the times each weight goes through the ring, for the root and for a block.",
        "Per step: the root 2 times, a block 3 (FULL_SHARD) or 2 times; DDP's gradients 2 times.",
        "Each time costs (world_size - 1) / world_size of the bytes. DDP pads nothing.",
    ),
    11: (
        "The bonus needs no new wrapping, only another mesh.",
        "init_device_mesh(device_type, (num_replicas, num_shards), mesh_dim_names=…).",
    ),
}

hint = Hints(TIERS).show
