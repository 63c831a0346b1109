"""Sequence losses for PyTorch: a module whose gradient, and gradient of the gradient, are exact.

    import torch, tropica
    from tropica.torch import SequenceLoss

    criterion = SequenceLoss(tropica.Loss("edit"), gamma=1.0)
    theta = model(x)                          # [batch, length, labels], float32 or float64
    loss = criterion(theta, references)       # references: lists of labels, or a padded tensor
    loss.backward()
"""

from __future__ import annotations

import warnings
from typing import Optional, Sequence, Union

import numpy as np
import torch

from .losses import InvalidError, Loss, Packed, Session, evaluate, pack

OBJECTIVES = ("softmax_margin", "risk", "reward_augmented", "max_margin")

_said = set()


def _numpy(name, x):
    """The numbers of a tensor, copied if they are on another device, which is said once."""
    x = x.detach()
    if x.layout != torch.strided:
        raise InvalidError("%s has the layout %s; to_dense() gives it one that is read here" % (name, x.layout))
    if x.device.type == "meta":
        raise InvalidError("%s is on the device meta, which has no numbers" % name)
    if x.device.type != "cpu":
        if x.device.type not in _said:
            _said.add(x.device.type)
            warnings.warn("tropica computes on the processor: tensors on %s are copied there and back" % x.device, stacklevel=4)
        x = x.cpu()
    return x.resolve_neg().numpy()


def _windows(strings, lengths, order, alphabet):
    """Places (example, position, window) of the windows of padded strings."""
    b, t = np.nonzero(np.arange(strings.shape[1])[None, :] < lengths[:, None])
    w = np.zeros(len(b), np.int64)
    for back in range(order - 1, -1, -1):
        use = t >= back
        w = np.where(use, w * alphabet + strings[b, np.where(use, t - back, 0)], w)
    return b, t, w


class _Case:
    """One call of a SequenceLoss, which its functions share."""

    def __init__(self, module, references, lengths, alphabet, gradient):
        self.m, self.references, self.lengths, self.alphabet = module, references, lengths, alphabet
        self.gradient = gradient
        self.reduction = module.reduction
        self.count = max(1, len(references.offsets) - 1) if module.reduction == "mean" else 1  # divides the sum

    def run(self, loss, x, gamma, want, **more):
        return evaluate(loss, self.references, x, gamma=gamma, order=self.m.order, alphabet=self.alphabet, lengths=self.lengths,
                        workers=self.m.workers, session=self.m.session, want=want, **more)

    def padded(self, length):
        """References as an array [batch, length] with their lengths."""
        symbols, offsets = self.references
        n = np.diff(offsets)
        out = np.zeros((len(n), length), np.int64)
        for i in range(len(n)):
            out[i, :n[i]] = symbols[offsets[i]:offsets[i + 1]]
        return out, n

    def value(self, x, gradient):
        """Returns values by example, and the gradient with respect to theta if it is asked for."""
        m, gamma = self.m, self.m.gamma
        if m.objective == "softmax_margin":
            r = self.run(m.loss, x, gamma, ("log_z", "score") + (("marginals",) if gradient else ()), less_reference=True)
            return r.log_z - r.score, r.marginals
        if m.objective == "risk":
            r = self.run(m.loss, x, 0.0, ("risk",) + (("risk_gradient",) if gradient else ()))
            return r.risk, r.risk_gradient
        if m.objective == "reward_augmented":
            target = self.run(m.loss, np.zeros(x.shape), gamma, ("marginals",)).marginals
            r = self.run(None, x, 0.0, ("log_z",) + (("marginals",) if gradient else ()))
            known = np.where(target > 0, x, 0.0)  # padding and forbidden windows have no part
            return r.log_z - np.einsum("btw,btw->b", target, known), r.marginals - target if gradient else None
        r = self.run(m.loss, x, gamma, ("max_aug", "score", "argmax"))
        if not gradient:
            return r.max_aug - r.score, None
        g = np.zeros(x.shape)
        ref, n = self.padded(x.shape[1])
        g[_windows(r.argmax.astype(np.int64), n, m.order, self.alphabet)] += 1
        g[_windows(ref, n, m.order, self.alphabet)] -= 1
        return r.max_aug - r.score, g

    def hessian(self, x, v):
        """Returns the product of each example's Hessian with v."""
        m, gamma = self.m, self.m.gamma
        if m.objective == "softmax_margin":
            return self.run(m.loss, x, gamma, ("hvp",), direction=v).hvp
        if m.objective == "reward_augmented":
            return self.run(None, x, 0.0, ("hvp",), direction=v).hvp
        if m.objective == "max_margin":
            return np.zeros(x.shape)
        return self.run(m.loss, x, 0.0, ("risk_hvp",), direction=v).risk_hvp


def _like(theta, x):
    """An array as a tensor of the type and on the device of theta."""
    return torch.from_numpy(x).to(device=theta.device, dtype=theta.dtype)


class _Value(torch.autograd.Function):
    """The values of the examples, or their sum or mean."""

    @staticmethod
    def forward(ctx, theta, case):
        values, ctx.gradient = case.value(_numpy("theta", theta), case.gradient)
        ctx.case = case
        ctx.save_for_backward(theta)
        if case.reduction != "none":
            values = np.asarray(values.sum() / case.count)
        return _like(theta, values)

    @staticmethod
    def backward(ctx, out):
        theta, = ctx.saved_tensors
        out = out[:, None, None] if ctx.case.reduction == "none" else out / ctx.case.count
        gradient, ctx.gradient = ctx.gradient, None
        if gradient is None:  # a second time
            gradient = ctx.case.value(_numpy("theta", theta), True)[1]
        if torch.is_grad_enabled():  # a graph of the gradient is made
            return out * _Gradient.apply(theta, ctx.case, gradient), None
        return _like(theta, gradient).mul_(out), None


class _Gradient(torch.autograd.Function):
    """The gradients of the examples."""

    @staticmethod
    def forward(ctx, theta, case, gradient):
        ctx.case = case
        ctx.save_for_backward(theta)
        return _like(theta, gradient)

    @staticmethod
    def backward(ctx, v):
        theta, = ctx.saved_tensors
        return _like(theta, ctx.case.hessian(_numpy("theta", theta), _numpy("the direction", v))), None, None


class SequenceLoss(torch.nn.Module):
    """A training objective of sequences, with exact gradients.

    Let theta(u) be the score of a string u and L(u) its loss against the reference r:

        softmax_margin    log sum_u exp(theta(u) + gamma L(u)) - theta(r); gamma 0 or loss None is the CRF
        risk              the mean of L under exp(theta)
        reward_augmented  log Z - sum_u q(u) theta(u) with q(u) proportional to exp(gamma L(u)), gamma below 0
        max_margin        max_u (theta(u) + gamma L(u)) - theta(r)

    loss is a tropica.Loss, the name of a kind ("edit", "hamming"), or None. order is that of the potentials: theta
    is [batch, length, alphabet ** order], row t the scores of windows of labels that end at t, the earliest
    first. reduction is "none", "sum" or "mean" over the batch. workers is the number of threads, 0 for
    all processors; results have the same bits for any number.

    Gradients of gradients are exact. Modules pickle, with what they need to be made again.
    """

    def __init__(self, loss: Union[Loss, str, None] = "edit", gamma: float = 1.0, order: int = 1,
                 objective: str = "softmax_margin", reduction: str = "mean", alphabet: Optional[int] = None,
                 workers: int = 0) -> None:
        super().__init__()
        if objective not in OBJECTIVES:
            raise ValueError("objective %r is none of %s" % (objective, ", ".join(OBJECTIVES)))
        if reduction not in ("none", "sum", "mean"):
            raise ValueError("reduction %r is none of none, sum, mean" % (reduction,))
        if loss is None and objective != "softmax_margin":
            raise ValueError("objective %s needs a loss" % objective)
        if objective == "reward_augmented" and not gamma < 0:
            raise ValueError("reward_augmented weighs strings by exp(gamma L): gamma must be below 0, it is %r" % (gamma,))
        self.loss = Loss(loss) if isinstance(loss, str) else loss
        self.gamma, self.order, self.objective, self.reduction = float(gamma), int(order), objective, reduction
        self.alphabet, self.workers, self.session = alphabet, int(workers), Session()

    def extra_repr(self):
        return "%s, %s, gamma=%g, order=%d, reduction=%s" % (self.objective, self.loss, self.gamma, self.order, self.reduction)

    def forward(self, theta: torch.Tensor, references: Union[torch.Tensor, Sequence, Packed],
                reference_lengths: Optional[torch.Tensor] = None, lengths: Optional[torch.Tensor] = None) -> torch.Tensor:
        """theta is [batch, length, alphabet ** order]; references are lists or tensors of labels, or a
        padded tensor [batch, length] with reference_lengths. Strings are as long as their references, or, for
        risk and reward_augmented, as long as lengths says; what is behind them in theta is padding, which has
        gradient 0."""
        if not isinstance(theta, torch.Tensor) or theta.dtype not in (torch.float32, torch.float64):
            raise InvalidError("theta is %s; it must be a tensor of float32 or float64: theta.float() makes one" % (
                theta.dtype if isinstance(theta, torch.Tensor) else type(theta)))
        if self.order not in (1, 2, 3):
            raise InvalidError("order is %r, not 1, 2 or 3" % (self.order,))
        if theta.dim() != 3:
            raise InvalidError("theta has the shape %s, not [batch, length, windows]" % (tuple(theta.shape),))
        if isinstance(references, torch.Tensor):
            references = _numpy("references", references)
            if reference_lengths is None:
                raise InvalidError("padded references need reference_lengths")
        elif isinstance(references, (list, tuple)) and not isinstance(references, Packed):
            references = [_numpy("references", r) if isinstance(r, torch.Tensor) else r for r in references]
        if isinstance(reference_lengths, torch.Tensor):
            reference_lengths = _numpy("reference_lengths", reference_lengths)
        packed = pack(references, reference_lengths)
        if isinstance(lengths, torch.Tensor):
            lengths = _numpy("lengths", lengths)
        if len(packed[1]) - 1 != theta.shape[0]:
            raise InvalidError("%d references for a batch of %d" % (len(packed[1]) - 1, theta.shape[0]))
        alphabet = self.alphabet or round(theta.shape[2] ** (1.0 / self.order))
        case = _Case(self, packed, lengths, alphabet, theta.requires_grad and torch.is_grad_enabled())
        return _Value.apply(theta, case)
