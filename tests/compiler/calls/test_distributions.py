"""torch.distributions: made, drawn from and asked inside a compiled function, arguments checked."""

from __future__ import annotations

import pytest
import torch
import torch.distributions as D
from torch.distributions import constraints, transforms

import suture
from tests.harness import check

P = (torch.arange(4) + 1.0) / 6


@pytest.fixture(autouse=True)
def arguments_are_checked():
    """torch.compile turns the checks off for the whole process."""
    before = D.Distribution._validate_args
    D.Distribution.set_default_validate_args(True)
    yield
    D.Distribution.set_default_validate_args(before)


MAKERS = {
    "normal": lambda p: D.Normal(p, p.exp()),
    "bernoulli": lambda p: D.Bernoulli(probs=p),
    "categorical": lambda p: D.Categorical(logits=p),
    "one_hot": lambda p: D.OneHotCategorical(logits=p),
    "relaxed": lambda p: D.RelaxedBernoulli(torch.tensor(0.5), probs=p),
    "uniform": lambda p: D.Uniform(torch.zeros_like(p), p + 1),
    "beta": lambda p: D.Beta(p + 1, p + 2),
    "dirichlet": lambda p: D.Dirichlet(p + 1),
    "exponential": lambda p: D.Exponential(p + 1),
    "poisson": lambda p: D.Poisson(p + 1),
    "binomial": lambda p: D.Binomial(5, probs=p),
    "laplace": lambda p: D.Laplace(p, p + 1),
    "log_normal": lambda p: D.LogNormal(p, p + 1),
    "half_normal": lambda p: D.HalfNormal(p + 1),
    "weibull": lambda p: D.Weibull(p + 1, p + 1),
    "student": lambda p: D.StudentT(p + 1, p, p + 1),
    "mvn": lambda p: D.MultivariateNormal(p, scale_tril=torch.eye(4) * 2),
    "independent": lambda p: D.Independent(D.Normal(p, p + 1), 1),
    "mixture": lambda p: D.MixtureSameFamily(D.Categorical(logits=p), D.Normal(p, p + 1)),
    "transformed": lambda p: D.TransformedDistribution(
        D.Normal(p, p + 1), [transforms.TanhTransform(), transforms.AffineTransform(0.0, 2.0)]
    ),
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_drawn_and_its_probability(name):
    make = MAKERS[name]

    def fn(p):
        found = make(p)
        drawn = found.sample((2,))
        return drawn, found.log_prob(drawn), found.batch_shape

    check(fn, P.clone().requires_grad_())


@pytest.mark.parametrize("name", ["normal", "beta", "laplace", "log_normal", "transformed"])
def test_gradients_go_through_what_is_drawn(name):
    make = MAKERS[name]
    check(lambda p: make(p).rsample(), P.clone().requires_grad_())


def test_divergence_of_a_variational_posterior():
    def fn(p):
        q = D.Normal(p, torch.exp(p / 2))
        z = q.rsample()
        return z, D.kl_divergence(q, D.Normal(torch.zeros_like(p), torch.ones_like(p))).sum()

    check(fn, P.clone().requires_grad_())


def test_transforms_and_constraints():
    def fn(p):
        positive = D.transform_to(constraints.positive)
        both = transforms.ComposeTransform(
            [transforms.ExpTransform(), transforms.SigmoidTransform()]
        )
        return positive(p), both(p), both.inv(both(p)), constraints.unit_interval.check(p)

    check(fn, P.clone().requires_grad_())


def test_arguments_that_do_not_fit_raise_what_eager_raises():
    def fn(p):
        return D.Normal(p, p).log_prob(p)

    compiled = suture.compile(fn, backend="eager")
    compiled(P)
    for run in (fn, compiled, compiled):
        with pytest.raises(ValueError, match="Expected parameter scale"):
            run(-P)
    torch.testing.assert_close(compiled(P), fn(P))


class Doubled(property):
    """A property of a class of its own."""


class Holder:
    def __init__(self, x):
        self.x = x

    @Doubled
    def twice(self):
        return self.x * 2

    @twice.setter
    def twice(self, value):
        self.x = value / 2


def test_a_class_derived_from_property_is_a_property():
    def fn(x):
        held = Holder(x)
        held.twice = held.twice + 1
        return held.twice

    check(fn, P)
