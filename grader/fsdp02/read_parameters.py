"""Step 10: whole parameters of a model whose values lie in the ranks' shards."""

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from grader.cases import Case
from grader.fsdp02.engines import CASES, judge_weights, new_engine, train_step, truths_of
from grader.fsdp02.exercise import Check
from grader.mistakes import Mistake
from grader.verdict import Failure

Read = Callable[[nn.Module], dict[str, Tensor]]


def check_read_parameters(read_parameters: Read) -> None:
    """Judge `read_parameters(model) -> {name: whole parameter}` at stages 1 and 3."""
    proof = "every rank gets every weight whole, and keeps it: at ZeRO-1 and ZeRO-3"
    with Check("read_parameters", proof, read_parameters) as check:
        for stage, case in (CASES[0], CASES[2]):
            text = f"ZeRO-{stage}, {case.text}"
            run = check.launch(
                observe, read_parameters, stage, case, world_size=case.world_size, case=text
            )
            check.judge(judge(run.results, case, 0))
            check.judge(judge(run.results, case, 1))


def observe(read_parameters: Read, stage: int, case: Case) -> list[dict[str, Tensor]] | str:
    """Train one step, read, and train once more; return what was read, at once and after that."""
    model = case.new_model()
    engine = new_engine(model, stage)
    train_step(engine, case, 0)
    answer = read_parameters(model)
    if not isinstance(answer, dict):
        return "None" if answer is None else type(answer).__name__
    plain = {str(name): value for name, value in answer.items()}
    if not all(isinstance(value, Tensor) for value in plain.values()):
        return "a dict of other things than tensors"
    at_once = _copies(plain)
    train_step(engine, case, 1)
    return [at_once, _copies(plain)]


def _copies(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().to("cpu", copy=True) for name, value in tensors.items()}


def judge(
    results: Sequence[list[dict[str, Tensor]] | str], case: Case, time: int
) -> Failure | None:
    """Judge names and shapes, then the values: as read at once (`time` 0), or one step later."""
    answers = [result if isinstance(result, str) else result[time] for result in results]
    [truth] = truths_of(case, 1)
    shapes = {name: tuple(weight.shape) for name, weight in truth.weights.items()}
    for rank, answer in enumerate(answers):
        if isinstance(answer, str) or set(answer) != set(shapes):
            came = answer if isinstance(answer, str) else f"names {', '.join(sorted(answer))[:60]}…"
            return Failure(
                mistake=Mistake.WRONG_RESULT,
                expected=f"a dict of {len(shapes)} names of the model's parameters",
                came=came,
                where=f"rank {rank}",
            )
        for name, shape in shapes.items():
            if tuple(answer[name].shape) != shape:
                return Failure(
                    mistake=Mistake.SIZE0_WEIGHTS,
                    expected=f"'{name}' of shape {shape}",
                    came=f"shape {tuple(answer[name].shape)}",
                    where=f"rank {rank}",
                )
    return judge_weights(
        [answer for answer in answers if isinstance(answer, dict)],
        truth.weights,
        Mistake.NOT_COPIED if time else Mistake.WRONG_WEIGHTS,
        expected="weight {:.6g}, as it was when it was read" if time else "weight {:.6g}",
        next_step="" if time else "read each weight whole, inside the context",
    )
