"""Exact values and gradients of sequence losses: edit distances, n-gram losses, any transducer.

`tropica.evaluate` works on numpy arrays; `tropica.torch.SequenceLoss` is a module of PyTorch;
`tropica.Fst` and the functions beside it are the engine's machines. Calls run in a library of this
process, or in a worker process where it cannot run, as after fork (see `use`)."""

from ._backend import CancelledError, InvalidError, LimitError, TropicaError, backend, use
from .fst import (Fst, accep, arcsort, closure, compose, concat, connect, convert, determinize, equal, equivalent, intersect, invert,
                  isomorphic, minimize, project, prune, push, rmepsilon, shortestdistance, shortestpath, topsort, union)
from .losses import LatticeResult, Loss, Result, Session, evaluate, lattice, min_risk, sample

__version__ = "0.1.0"
