"""How many flipped bytes of a checkpoint's shards load without a word: dcp has no checksum."""

import contextlib
import random
import tempfile
from pathlib import Path

import torch
from torch.distributed.checkpoint.api import CheckpointException

import sandbox
from grader import explain, verdict
from grader.cases import Case
from grader.fsdp04.exercise import LoadShards, SaveShards
from grader.fsdp04.state import Truth, fill, new_state, take_snapshot, truth_of

CASE = Case(world_size=1, model={"dim": 48, "hidden_dim": 96})
NUM_FLIPS = 60
SEED = 8


@explain.telling_stubs("count_silent_flips")
def count_silent_flips(save_shards: SaveShards, load_shards: LoadShards) -> None:
    """Flip one byte of a checkpoint's shards, 60 times; print how many load, and how many wrong."""
    with tempfile.TemporaryDirectory(prefix="shardlab-") as path:
        run = sandbox.launch(
            observe_flips, save_shards, load_shards, path, CASE, truth_of(CASE, 1)[1], world_size=1
        )
    num_loaded, num_wrong = run.results[0]
    verdict.show(
        f"{NUM_FLIPS} times one byte flipped: {num_loaded} loaded without an error, "
        f"{num_wrong} of them with other weights or moments than were saved"
    )


def observe_flips(
    save_shards: SaveShards,
    load_shards: LoadShards,
    directory: str,
    case: Case,
    truth: Truth,
) -> tuple[int, int]:
    """Return how many loads raised nothing, and how many of these gave something else."""
    state = new_state(case)
    fill(state, truth, 1)
    save_shards(directory, state)
    [shards, *_] = sorted(Path(directory).glob("*.distcp"))
    content = shards.read_bytes()
    rng = random.Random(SEED)
    num_loaded = num_wrong = 0
    for place in rng.sample(range(len(content)), NUM_FLIPS):
        flipped = content[place] ^ (1 << rng.randrange(8))
        shards.write_bytes(content[:place] + bytes([flipped]) + content[place + 1 :])
        with contextlib.suppress(Exception, CheckpointException):  # told by what is not reached
            load_shards(directory, state)
            num_loaded += 1
            seen = take_snapshot(state)
            num_wrong += any(
                not torch.equal(shards_seen[name].local, whole)
                for shards_seen, wholes in (
                    (seen.weights, truth.weights),
                    (seen.moments, truth.moments),
                )
                for name, whole in wholes.items()
            )
    return num_loaded, num_wrong
