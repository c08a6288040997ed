"""The hints of fsdp03, in tiers: a nudge, a direction, nearly the answer."""

from grader.hints import Hints

TIERS = {
    1: (
        "What is stored before the step, what after it, and in which dtype is the sum?",
        "torch promotes: bf16 + fp32 is fp32. Convert both before adding.",
        "stored = weights.to(dtype); lost where stored + updates.to(dtype) == stored, update != 0.",
    ),
    2: (
        "You need no table of limits: torch converts to fp16, and you look at what came out.",
        "Underflow: 0 after the conversion, not 0 before. The scale: 65,504 / the largest size.",
        "2.0 ** math.floor(math.log2(torch.finfo(torch.float16).max / gradients.abs().max())).",
    ),
}

hint = Hints(TIERS).show
