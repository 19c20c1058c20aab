"""The iteration that the rivals share."""

from __future__ import annotations

import pytest
import torch

from arbgraph.propagation.base import Arcs, fixed_point, maximum_within, ratio

F64 = torch.float64


def test_every_graph_stops_by_itself():
    # Halving from 1 and from 8: the step is under 0.1 after 4 and after 7 iterations (1/16 and 8/128).
    group = torch.tensor([0, 1])
    (x,), iterations, converged = fixed_point(
        lambda x: (x / 2,), (torch.tensor([1.0, 8.0], dtype=F64),), (group,), 2, max_iterations=10, tolerance=0.1
    )
    assert x.tolist() == [1 / 16, 8 / 128]
    assert iterations.tolist() == [4, 7]
    assert converged.tolist() == [True, True]


def test_what_still_moves_or_is_not_a_number_has_not_converged():
    group = torch.tensor([0, 1, 2])
    (x,), iterations, converged = fixed_point(
        lambda x: (torch.stack([x[0], -x[1], x[2] * torch.nan]),),
        (torch.ones(3, dtype=F64),),
        (group,),
        3,
        max_iterations=4,
        tolerance=1e-6,
    )
    assert x[:2].tolist() == [1, 1]
    assert iterations.tolist() == [1, 4, 4]
    assert converged.tolist() == [True, False, False]


def test_the_furthest_moving_part_of_the_state_decides():
    groups = (torch.tensor([0]), torch.tensor([0, 0]))
    _, iterations, converged = fixed_point(
        lambda x, y: (x, y / 10), (torch.ones(1), torch.ones(2)), groups, 1, max_iterations=9, tolerance=0.05
    )
    assert (iterations.tolist(), converged.tolist()) == ([3], [True])  # y moves by 0.9, 0.09, 0.009


def test_arcs_go_both_ways_and_add():
    arcs = Arcs.both_ways(torch.tensor([[0, 0, 1], [1, 2, 2]]), torch.tensor([True, True, False]), torch.tensor([2.0, 3.0, 5.0]))
    assert arcs.sum(torch.tensor([1.0, 10.0, 100.0])).tolist() == [2 * 10 + 3 * 100, 2, 3]


def test_maximum_within_groups():
    assert maximum_within(torch.tensor([1.0, 3.0, 2.0]), torch.tensor([0, 2, 2]), 3).tolist() == [1, 0, 3]


def test_ratio_of_nothing_has_no_gradient():
    x, y = torch.tensor([1.0, 1.0], requires_grad=True), torch.tensor([2.0, 0.0], requires_grad=True)
    result = ratio(x, y, 7.0)
    assert result.tolist() == [0.5, 7.0]
    result.sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    assert (x.grad.tolist(), y.grad.tolist()) == ([0.5, 0.0], [pytest.approx(-0.25), 0.0])
