"""Mistakes with number formats: what rounds, what overflows, who scales and who skips."""

# -- what bf16 and fp16 lose ----------------------------------------------------------------------

WRONG_COUNT = (
    "The count is not that of the numbers it is asked for.",
    "compare before and after, element by element, in the format that is asked for",
)
SUM_PROMOTED = (
    "The sum was computed in fp32: torch promotes bf16 + fp32 to fp32, so nothing is lost in it.",
    "bring both to dtype before you add: weights.to(dtype) + updates.to(dtype)",
)
NOT_THE_STORED_WEIGHT = (
    "The new weight is compared with the fp32 weight, which was never stored.",
    "compare with the weight as it is stored: weights.to(dtype)",
)
ZEROS_COUNTED = (
    "What was zero before is counted as lost.",
    "count only elements that are not zero before: & (values != 0)",
)
DTYPE_IGNORED = (
    "The answer is that of one dtype, whatever is asked for.",
    "use the argument dtype",
)
SUBNORMALS_COUNTED = (
    "Subnormal numbers are counted as lost, but fp16 holds them, down to 6e-8.",
    "let the conversion decide: count where (gradients * scale).to(torch.float16) is 0",
)
SCALE_OVERFLOWS = (
    "With this scale a gradient becomes inf in fp16.",
    "take the largest absolute value, and a power of two that keeps it below 65,504",
)
SCALE_TOO_SMALL = (
    "A larger power of two would still keep every gradient finite in fp16.",
    "double as long as the largest absolute value stays finite; start low enough",
)
SCALE_NOT_A_POWER_OF_TWO = (
    "The scale is no power of two, so multiplying by it rounds every gradient.",
    "round down to a power of two: 2.0 ** math.floor(math.log2(…))",
)

# -- one number for all ranks ---------------------------------------------------------------------

GRADIENTS_GATHERED = (
    "Whole gradients are gathered on every rank, where one number of each rank is enough.",
    "compute with gradient.to_local(), this rank's part, and all_reduce what comes out",
)

# -- mixed precision under FSDP2 ------------------------------------------------------------------

PURE_BF16_STATE = (
    "The shards themselves are in low precision, so small updates are lost.",
    "leave the model in fp32; give fully_shard an mp_policy, which casts what is gathered",
)
NOT_MIXED = (
    "The weights are gathered in fp32: no mixed precision.",
    "fully_shard(…, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, …))",
)
HALF_MIXED = (
    "Some units are in mixed precision, others are not.",
    "give the same mp_policy to every fully_shard, the root's too",
)
WRONG_PARAM_DTYPE = (
    "The weights are gathered in another dtype than bf16.",
    "param_dtype=torch.bfloat16",
)
REDUCED_IN_BF16 = (
    "Gradients are summed over the ranks in low precision: each addition rounds to 8 bits.",
    "set reduce_dtype=torch.float32; left out, it follows param_dtype",
)
ITEMSIZES_SWAPPED = (
    "The two sizes are swapped: gathers move weights, reduce-scatters move gradients.",
    "param_itemsize counts for all-gathers, reduce_itemsize for reduce-scatters",
)

# -- the loss scaler ------------------------------------------------------------------------------

NOT_UNSCALED = (
    "The gradients still carry the loss scale.",
    "divide each gradient by the scale, in place, before anything else looks at it",
)
UNSCALED_WRONG = (
    "The gradients are not the scaled ones divided by the scale.",
    "gradient.div_(scale), once per gradient, in place",
)
DIVERGENT_DECISION = (
    "The ranks do not agree: one sees an inf or NaN and skips, the others step, and they diverge.",
    "all_reduce the flag with ReduceOp.MAX on every rank, and decide by what comes back",
)
NONFINITE_MISSED = (
    "A gradient is inf or NaN, and the answer says that all are finite.",
    "look for both, in every gradient: not gradient.isfinite().all()",
)
FALSE_ALARM = (
    "All gradients are finite, and the answer says that one is not.",
    "return whether any rank found an inf or NaN, no more",
)
SCALE_NOT_BACKED_OFF = (
    "After an overflow the scale is not halved.",
    "where found_inf, return scale / 2",
)
SCALE_NEVER_GROWS = (
    "After growth_interval good steps the scale is not doubled.",
    "count the good steps; at growth_interval of them double the scale",
)
GOOD_STEPS_NOT_RESET = (
    "The count of good steps goes on where it should start again from 0.",
    "start it from 0 after an overflow, and after each doubling",
)
WRONG_SCALE = (
    "The scale is not the one that the rules give.",
    "halve on overflow; double after growth_interval good steps in a row; else leave it",
)
STEPPED_ON_INF = (
    "The optimizer stepped on gradients that hold an inf or NaN; the weights are lost.",
    "call optimizer.step() only where unscale_gradients found nothing, on any rank",
)
CLIPPED_BEFORE_UNSCALE = (
    "The gradients were clipped while they still carried the loss scale.",
    "unscale first, then clip: max_norm is meant for the true gradients",
)
FP16_NO_SCALER = (
    "Backward ran on the loss as it is: in fp16 its small gradients are lost.",
    'backward the scaled loss: (loss * scaler["scale"]).backward()',
)
SKIPPED_A_GOOD_STEP = (
    "A step was skipped although all gradients were finite.",
    "skip only where unscale_gradients returns True",
)
INF_NOT_CLEARED = (
    "The gradients of the skipped step are still there in the next one.",
    "call optimizer.zero_grad() in every step, the skipped one too",
)
SCALER_NOT_UPDATED = (
    "The scaler does not hold what update_scale gives.",
    'after every step store both: scaler["scale"], scaler["num_good_steps"] = update_scale(…)',
)

# -- clipping, and looking for NaN ----------------------------------------------------------------

CLIPPED_UP = (
    "Gradients shorter than max_norm were made longer.",
    "scale by min(1, max_norm / norm)",
)
INF_OVERLOOKED = (
    "The first NaN was found, but an inf came before it: NaN is what inf - inf gives.",
    "test with math.isfinite, which is False for inf and for NaN",
)
FIRST_IN_THE_LIST = (
    "This is the first such record of the list, which holds rank after rank, not step after step.",
    "find the smallest step that has one, over all ranks; then look into that step alone",
)
SYMPTOM_NOT_CAUSE = (
    "Rank and step are right; the layer is one that caught it, not the one where it began.",
    "backward runs from the head to the embedding: take the first record, not the last",
)
WRONG_CULPRIT = (
    "The first inf or NaN is elsewhere.",
    "the smallest step with one; in it the rank that has one; of its records the first",
)
