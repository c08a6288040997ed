"""launch: fresh ranks, their results, and a clear word for everything that cannot be."""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
import threading
import time

import pytest
import torch
import torch.distributed as dist

import sandbox
from sandbox.ranks.result import dump_result


def report_identity() -> tuple[int, int, int, str, str]:
    return (
        dist.get_rank(),
        dist.get_world_size(),
        os.getpid(),
        os.environ["LOCAL_RANK"],
        os.getcwd(),
    )


@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_each_rank_is_a_process_of_its_own_and_results_come_in_rank_order(world_size: int) -> None:
    run = sandbox.launch(report_identity, world_size=world_size)
    assert [(rank, size, int(local)) for rank, size, _, local, _ in run.results] == [
        (rank, world_size, rank) for rank in range(world_size)
    ]
    assert len({pid for _, _, pid, _, _ in run.results} | {os.getpid()}) == world_size + 1
    assert {cwd for *_, cwd in run.results} == {os.getcwd()}


def sum_ranks() -> torch.Tensor:
    total = torch.tensor([float(dist.get_rank())])
    dist.all_reduce(total)
    return total


def test_ranks_reach_each_other() -> None:
    assert [result.item() for result in sandbox.launch(sum_ranks, world_size=4).results] == [
        6.0
    ] * 4


def test_arguments_and_what_a_function_closes_over_travel_by_value() -> None:
    offset = torch.tensor(10)

    class Scale:
        def __init__(self, factor: int) -> None:
            self.factor = factor

    run = sandbox.launch(lambda scale, add=0: int(offset) * scale.factor + add, Scale(3), add=1)
    assert run.results == [31] * 4


def test_the_function_can_make_the_group_itself_without_a_port() -> None:
    def init_and_sum() -> float:
        assert not dist.is_initialized()
        dist.init_process_group("gloo")
        return sum_ranks().item()

    assert sandbox.launch(init_and_sum, init_process_group=False, world_size=3).results == [3.0] * 3


def test_no_rank_ends_before_all_have_finished() -> None:
    def rank_0_returns_at_once() -> float:
        if dist.get_rank() == 0:
            return -1.0
        group = torch.tensor([1.0])
        for _ in range(50):
            dist.send(group, 3 - dist.get_rank()) if dist.get_rank() == 1 else dist.recv(group, 1)
        return group.item()

    assert sandbox.launch(rank_0_returns_at_once, world_size=3).results == [-1.0, 1.0, 1.0]


def test_threads_and_pools_are_waited_for_as_at_the_end_of_a_process(tmp_path) -> None:
    def start_a_thread() -> None:
        def write() -> None:
            time.sleep(0.2)
            (tmp_path / str(dist.get_rank())).write_text("done")

        threading.Thread(target=write).start()

    sandbox.launch(start_a_thread, world_size=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"]


def test_two_launches_at_once_do_not_meet() -> None:
    results: dict[int, list[float]] = {}

    def launch(world_size: int) -> None:
        run = sandbox.launch(sum_ranks, world_size=world_size)
        results[world_size] = [value.item() for value in run.results]

    threads = [threading.Thread(target=launch, args=(size,)) for size in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == {2: [1.0, 1.0], 3: [3.0, 3.0, 3.0]}


def test_importing_the_package_imports_no_torch() -> None:
    code = "import sandbox, sys; assert not {'torch', 'numpy', 'IPython'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_what_is_asked_of_a_launch_is_written_without_torch() -> None:
    names = "launch, launch_elastic, generation, Kill, Join, FileChange, ElasticRun"
    code = f"from sandbox import {names}; import sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("world_size", [0, -1, 10_000, 2.5, True, "4", None])
def test_a_world_size_that_cannot_be_is_named_with_what_was_expected(world_size: object) -> None:
    with pytest.raises(sandbox.LaunchError) as caught:
        sandbox.launch(sum_ranks, world_size=world_size)
    assert (
        str(caught.value) == f"world_size is {world_size!r}, expected a whole number from 1 to 256."
    )


@pytest.mark.parametrize("timeout_s", [0, -3.0, float("inf"), float("nan"), "30"])
def test_a_timeout_that_cannot_pass_is_refused(timeout_s: object) -> None:
    with pytest.raises(sandbox.LaunchError, match="timeout_s is .*expected a positive number"):
        sandbox.launch(sum_ranks, timeout_s=timeout_s)


def add(a: int, timeout: int = 0) -> int:
    return a + timeout


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"world_sz": 2}, r"takes world_sz=…. Hint: did you mean world_size=…\?"),
        ({"timout_s": 2}, "did you mean timeout_s="),
        ({"memory": "yes"}, "memory is 'yes', expected True or False."),
        ({"init_process_group": 0}, "init_process_group is 0, expected True or False."),
    ],
)
def test_an_option_that_is_nearly_one_is_refused_before_anything_starts(keywords, said) -> None:
    with pytest.raises(sandbox.LaunchError, match=said):
        sandbox.launch(add, 1, **keywords)


def test_the_functions_own_keywords_reach_it_whatever_they_resemble() -> None:
    assert sandbox.launch(add, 1, timeout=2, world_size=1).results == [3]
    assert sandbox.launch(lambda **known: known, backends=1, world_size=1).results == [
        {"backends": 1}
    ]
    with pytest.raises(sandbox.RankError, match="unexpected keyword argument 'colour'"):
        sandbox.launch(add, 1, colour=2, world_size=1)


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(sandbox.LaunchError, match="'mpi', expected one of auto, gloo, nccl"):
        sandbox.launch(sum_ranks, backend="mpi")


def test_nccl_without_gpus_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.backend.has_nvidia_driver", lambda: False)
    with pytest.raises(sandbox.LaunchError, match="one GPU per rank: 4 ranks, 0 GPUs"):
        sandbox.launch(sum_ranks, backend="nccl")


def test_what_cannot_be_pickled_is_named() -> None:
    lock = threading.Lock()
    with pytest.raises(sandbox.LaunchError, match=r"cannot be sent.*lock.*inside the function"):
        sandbox.launch(lambda: lock)


def test_something_that_is_no_function_is_refused() -> None:
    with pytest.raises(
        sandbox.LaunchError, match=r"fn is 3, a int; expected a function.*not f\(\)"
    ):
        sandbox.launch(3)


@pytest.mark.parametrize(
    ("args", "kwargs", "reason"),
    [
        ((), {}, "missing a required argument: 'steps'"),
        ((1, 2, 3), {}, "too many positional arguments"),
        ((1,), {"steps": 2}, "multiple values for argument 'steps'"),
    ],
)
def test_arguments_that_the_function_does_not_take_are_told_once(args, kwargs, reason) -> None:
    def train(steps: int, lr: float = 0.1) -> None: ...

    with pytest.raises(sandbox.LaunchError) as caught:
        sandbox.launch(train, *args, **kwargs)
    message = str(caught.value)
    assert "call train(steps: 'int', lr: 'float' = 0.1) -> 'None' with other" in message
    assert f"{reason}. Hint: " in message
    assert message.endswith("as in launch(train, …).")


def test_arguments_of_what_stands_for_a_function_are_the_ranks_to_judge() -> None:
    @functools.wraps(sum_ranks)
    def takes_any(*args: int) -> int:
        return len(args)

    assert sandbox.launch(takes_any, 1, 2, 3, world_size=1).results == [3]


def test_a_tensor_on_a_gpu_is_refused_with_the_way_out() -> None:
    class OnGpu(torch.Tensor):
        is_cuda = True
        device = torch.device("cuda", 0)

    tensor = torch.ones(2, 3).as_subclass(OnGpu)
    with pytest.raises(sandbox.LaunchError, match=r"on cuda:0, shape \(2, 3\).*\.cpu\(\)"):
        sandbox.launch(lambda: tensor)


def test_a_result_on_a_gpu_comes_back_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = []

    def move(storage: torch.UntypedStorage) -> torch.UntypedStorage:
        moved.append(storage.nbytes())
        monkeypatch.undo()
        return storage

    weight = torch.nn.Parameter(torch.arange(6.0).view(2, 3)[:, 1:])
    monkeypatch.setattr(torch.UntypedStorage, "device", torch.device("cuda", 1))
    monkeypatch.setattr(torch.UntypedStorage, "cpu", move)
    result = pickle.loads(dump_result({"weight": weight}))
    assert moved == [24]
    assert isinstance(result["weight"], torch.nn.Parameter)
    assert result["weight"].tolist() == [[1.0, 2.0], [4.0, 5.0]]


def test_a_result_that_cannot_be_pickled_is_the_ranks_error() -> None:
    with pytest.raises(sandbox.RankError, match=r"return value \(a lock\) cannot be sent back"):
        sandbox.launch(threading.Lock, world_size=2)


def test_a_result_of_a_gibibyte_is_refused_and_nothing_hangs() -> None:
    with pytest.raises(sandbox.RankError, match="more than 256 MiB"):
        sandbox.launch(lambda: torch.zeros(1 << 30, dtype=torch.uint8), world_size=1)


def test_many_ranks_start_at_once() -> None:
    assert [r.item() for r in sandbox.launch(sum_ranks, world_size=16).results] == [120.0] * 16


def test_completion_offers_the_public_names() -> None:
    assert "launch" in dir(sandbox)
    assert not [name for name in dir(sandbox) if not hasattr(sandbox, name)]
