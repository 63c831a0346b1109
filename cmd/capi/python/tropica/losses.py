"""Exact values and gradients of sequence losses, on numpy arrays.

    import numpy as np, tropica

    theta = np.random.randn(2, 4, 5)                       # [batch, length, alphabet]
    r = tropica.evaluate(tropica.Loss("edit"), [[0, 1, 1, 2], [3, 0]], theta)
    r.log_z        # [batch]: log of the sum over strings u of exp(theta(u) + L(u, reference))
    r.marginals    # its gradient, of the shape of theta
"""

from __future__ import annotations

import itertools
import json
import math
import os
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike

from . import _structs as s
from ._backend import Array, Held, InvalidError, backend, interruptible

if TYPE_CHECKING:
    from .fst import Fst

NUMBERS = ("log_z", "log_z0", "expected", "risk", "score", "max_aug", "max_score", "log_z_error")
STRINGS = ("argmax", "viterbi")
TENSORS = ("marginals", "risk_gradient", "hvp", "risk_hvp")


class Packed(NamedTuple):
    """Strings one after the other, int32, and where each begins, int64, and at last where they end."""

    symbols: np.ndarray
    offsets: np.ndarray


# Strings as they are given: lists of labels, or what pack returned, or a padded array with lengths.
Strings = Union[Packed, Sequence[ArrayLike], np.ndarray]


def integers(name, x, kind):
    """Returns a dense array of whole numbers of a type; anything else is an error, not rounded."""
    x = np.asarray(x)
    if x.dtype.kind not in "iu":
        if x.size and (x.dtype.kind != "f" or not np.array_equal(x, np.floor(x)) or np.isinf(x).any()):
            raise InvalidError("%s: they are not all whole numbers" % name)
    info = np.iinfo(kind)
    if x.size and (x.min() < info.min or x.max() > info.max):
        raise InvalidError("%s: %s to %s are beyond %d bits" % (name, x.min(), x.max(), info.bits))
    return np.ascontiguousarray(x, kind)


def _whole(name, v, end):
    """Refuses what is no number from 0 to end: C would take what is left of it."""
    if not isinstance(v, (int, np.integer)) or not 0 <= v < end:
        raise InvalidError("%s is %r, not a whole number from 0 to %d" % (name, v, end - 1))


def numbers(name, x, shape):
    """Returns a dense array of float64 of a shape."""
    x = np.ascontiguousarray(x, np.float64)
    if x.shape != shape:
        raise InvalidError("%s: the shape is %s, not %s" % (name, x.shape, shape))
    return x


def _written(x):
    """A value as `fst loss` has it in JSON, which has no numbers such as infinity."""
    if isinstance(x, (np.ndarray, np.generic)):
        x = x.tolist()
    if isinstance(x, (list, tuple)):
        return [_written(y) for y in x]
    if isinstance(x, float) and not math.isfinite(x):
        return str(x)
    return x


class Loss(Held):
    """A loss of a string u against a reference.

    kind is "edit", "local", "ngram" or "hamming"; fields are those of `fst loss`: match, sub, ins,
    del_ (or del), band, cap; n, c; scale. sub may be a table [symbol][reference symbol], ins and del_
    lists by symbol. limit is the greatest size of a loss machine in bytes; 0 is 2 GB.

        Loss("edit")                      # the Levenshtein distance
        Loss("edit", sub=2.0, band=4)
        Loss("ngram", n=2, c=1.0)
        Loss.transducer("u.fst", family="rational", c=1.0)
    """

    def __init__(self, kind: str = "edit", limit: int = 0, **fields: Any) -> None:
        super().__init__()
        if "del_" in fields:
            fields["del"] = fields.pop("del_")
        self.spec = dict(kind=kind, **{k: _written(v) for k, v in fields.items()})
        _whole("limit", limit, 2**63)
        self.limit = int(limit)
        self._data = None
        self.handle()  # mistakes are found here

    @classmethod
    def transducer(cls, machine: Union[str, os.PathLike, bytes, Fst], family: str = "tropical", c: float = 0.0,
                   limit: int = 0) -> Loss:
        """The loss of any transducer: a file's name, the bytes of a binary file, or an Fst.

        Its input side reads u, its output side the reference, symbol k as label k + 1."""
        loss = cls.__new__(cls)
        Held.__init__(loss)
        _whole("limit", limit, 2**63)
        loss.limit = int(limit)
        loss._data = None
        name = "bytes"
        if isinstance(machine, (bytes, bytearray)):
            loss._data = bytes(machine)
        elif hasattr(machine, "write_to_string"):
            loss._data = machine.write_to_string()
        else:
            with open(machine, "rb") as f:
                loss._data = f.read()
            name = str(machine)
        if not loss._data:
            raise InvalidError("the transducer: 0 bytes are no machine")
        loss.spec = dict(kind="transducer", family=family, file=name)
        if c:
            loss.spec["c"] = _written(float(c))
        loss.handle()
        return loss

    def _make(self, b):
        spec = np.frombuffer(json.dumps(self.spec).encode(), np.uint8)
        a = s.LossArgs(spec_bytes=spec.size, limit=self.limit)
        arrays = {"spec": Array(spec)}
        if self._data is not None:
            data = np.frombuffer(self._data, np.uint8)
            a.file_bytes = data.size
            arrays["file"] = Array(data)
        b.call("loss", a, arrays)
        return a.loss

    def __repr__(self):
        return "Loss(%s)" % json.dumps(self.spec)


class _Room:
    """Memory for large arrays. What an array had is used again when nobody holds it: fresh memory comes
    from the system page by page, which takes longer than to fill it."""

    least, kept = 1 << 16, 4

    def __init__(self):
        self._free = []   # buffers of which no array is left
        self._lent = {}   # by the identity of a reference to the array: the reference, and the buffer

    def array(self, shape, dtype):
        """An array with any numbers in it."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if size < self.least:
            return np.empty(shape, dtype)
        buffer = None
        try:  # other threads take and give at any time
            buffer = self._free.pop()
        except IndexError:
            pass
        if buffer is None or not size <= len(buffer) <= 4 * size:
            buffer = bytearray(size + size // 8)
        # The buffer is no array: numpy makes what is cut from an array depend on its base, which
        # would else be a longer-lived one than the array that is watched.
        x = np.ndarray(shape, dtype, buffer=buffer)
        ref = weakref.ref(x, self._back)
        self._lent[id(ref)] = ref, buffer
        return x

    def _back(self, ref):
        buffer = self._lent.pop(id(ref))[1]
        if len(self._free) < self.kept:
            self._free.append(buffer)


class Session(Held):
    """Keeps loss machines and working memory from one call to the next. It serves one thread at a
    time; others wait. Arrays of results that nobody holds any more are part of that memory."""

    def __init__(self):
        super().__init__()
        self._room = _Room()

    def __getstate__(self):
        return dict(super().__getstate__(), _room=_Room())

    def _make(self, b):
        a = s.HandleArgs()
        b.call("session", a, {})
        return a.handle


class Result:
    """What evaluate computed: an attribute for each name that was wanted, None for the others."""

    __slots__ = NUMBERS + STRINGS + TENSORS

    log_z: Optional[np.ndarray]          # [batch]
    log_z0: Optional[np.ndarray]         # [batch]: without the loss
    expected: Optional[np.ndarray]       # [batch]: of the loss, under exp(theta + gamma L)
    risk: Optional[np.ndarray]           # [batch]: the same under exp(theta)
    score: Optional[np.ndarray]          # [batch]: of the references
    max_aug: Optional[np.ndarray]        # [batch]: of theta + gamma L
    max_score: Optional[np.ndarray]      # [batch]: of theta
    log_z_error: Optional[np.ndarray]    # [batch]: what a band may have cost log_z
    argmax: Optional[np.ndarray]         # [batch, length]: the string of max_aug
    viterbi: Optional[np.ndarray]        # [batch, length]: the string of max_score
    marginals: Optional[np.ndarray]      # [batch, length, windows], as those that follow
    risk_gradient: Optional[np.ndarray]
    hvp: Optional[np.ndarray]
    risk_hvp: Optional[np.ndarray]

    def __init__(self):
        for name in self.__slots__:
            setattr(self, name, None)

    def __repr__(self):
        return "Result(%s)" % ", ".join(n for n in self.__slots__ if getattr(self, n) is not None)


def pack(strings: Strings, lengths: Optional[ArrayLike] = None) -> Packed:
    """Returns the symbols of all strings, one after the other, and where each begins.

    strings is a list of sequences of numbers, or a padded array [batch, length] with lengths."""
    if isinstance(strings, Packed) and lengths is None:
        symbols, offsets = strings
        for name, x, kind in (("symbols", symbols, np.int32), ("offsets", offsets, np.int64)):
            if type(x) is not np.ndarray or x.dtype != kind or x.ndim != 1 or not x.flags.c_contiguous:
                raise InvalidError("packed strings: %s are no dense array of %s" % (name, np.dtype(kind)))
        if not offsets.size or offsets[-1] != symbols.size:
            raise InvalidError("packed strings: %d symbols, but the last ends at %s" % (symbols.size, offsets[-1:]))
        return strings
    if lengths is not None:
        padded = np.asarray(strings)
        lengths = integers("reference_lengths", lengths, np.int64)
        if padded.ndim != 2 or lengths.shape != padded.shape[:1]:
            raise InvalidError("padded references are an array [batch, length] with a length each")
        if lengths.size and (lengths.min() < 0 or lengths.max() > padded.shape[1]):
            bad = int(np.argmax((lengths < 0) | (lengths > padded.shape[1])))
            e = InvalidError("element %d: a reference of length %d in an array of %d columns" % (bad, lengths[bad], padded.shape[1]))
            e.element = bad
            raise e
        strings = [row[:n] for row, n in zip(padded, lengths)]
    offsets = np.zeros(len(strings) + 1, np.int64)
    if lengths is None and all(type(u) is list for u in strings):
        try:
            symbols = np.array(list(itertools.chain.from_iterable(strings)) or np.zeros(0, np.int32))
        except ValueError:  # lists within
            symbols = np.zeros(0)
        if symbols.dtype.kind == "i" and symbols.ndim == 1 and (symbols.size == 0 or -2**31 <= symbols.min() and symbols.max() < 2**31):
            np.cumsum([len(u) for u in strings], out=offsets[1:])
            return Packed(symbols.astype(np.int32), offsets)
    rows = []  # what follows finds the mistake, if there is one
    for i, u in enumerate(strings):
        try:
            row = np.asarray(u)
        except ValueError:  # of different lengths
            row = np.asarray(u, object)
        if row.size == 0:
            row = row.astype(np.int32)
        if row.ndim != 1 or row.dtype.kind not in "iu":
            e = InvalidError("element %d: the string is %s of shape %s, not a list of integers" % (i, row.dtype, row.shape))
            e.element = i
            raise e
        if row.size and (row.min() < -2**31 or row.max() >= 2**31):
            e = InvalidError("element %d: a symbol is beyond 32 bits" % i)
            e.element = i
            raise e
        rows.append(row.astype(np.int32, copy=False))
        offsets[i + 1] = offsets[i] + row.size
    symbols = np.concatenate(rows) if rows else np.zeros(0, np.int32)
    return Packed(np.ascontiguousarray(symbols, np.int32), offsets)


def _tensor(name, x):
    """Returns an array whose rows are contiguous, and its Tensor."""
    if x.ndim != 3:
        raise InvalidError("%s has the shape %s, not [batch, length, windows]" % (name, x.shape))
    if x.dtype not in (np.float32, np.float64):
        raise InvalidError("%s is %s; float32 and float64 are what there is" % (name, x.dtype))
    item = x.itemsize
    ok = x.shape[2] <= 1 or x.strides[2] == item
    ok = ok and all(st >= 0 and st % item == 0 for st in x.strides) and x.flags.aligned
    ok = ok and (x.shape[1] <= 1 or x.strides[1] >= x.shape[2] * item)
    ok = ok and (x.shape[0] <= 1 or x.strides[0] >= (x.shape[1] - 1) * x.strides[1] + x.shape[2] * item)
    if not ok or isinstance(backend_of_arrays(), str):
        x = np.ascontiguousarray(x)
    return x, s.Tensor(type=1 if x.dtype == np.float32 else 0, batch_stride=x.strides[0] // item if x.shape[0] > 1 else 0,
                       row_stride=x.strides[1] // item if x.shape[1] > 1 else 0)


def backend_of_arrays():
    """A worker copies arrays, which must be dense; the library takes them where they are."""
    b = backend()
    return "dense" if b.name == "worker" else b


def _alphabet(windows, order, alphabet):
    if order not in (1, 2, 3):
        raise InvalidError("order is %r, not 1, 2 or 3" % (order,))
    if alphabet is None:
        alphabet = round(windows ** (1.0 / order))
    if alphabet ** order != windows:
        raise InvalidError("theta has %d windows a row, which is not alphabet ** %d%s" % (
            windows, order, "" if alphabet is None else " for an alphabet of %d" % alphabet))
    return alphabet


def _lengths(lengths, batch):
    n = integers("lengths", lengths, np.int64)
    if n.shape != (batch,):
        raise InvalidError("%s lengths for a batch of %d" % (n.shape, batch))
    return n


def evaluate(loss: Optional[Loss], references: Strings, theta: ArrayLike, *, gamma: float = 1.0, order: int = 1,
             alphabet: Optional[int] = None, reference_lengths: Optional[ArrayLike] = None,
             lengths: Optional[ArrayLike] = None, workers: int = 0, session: Optional[Session] = None,
             want: Sequence[str] = ("log_z", "marginals"), direction: Optional[ArrayLike] = None,
             less_reference: bool = False, out: Optional[dict[str, np.ndarray]] = None) -> Result:
    """Evaluates a batch and returns a Result.

    theta is an array [batch, length, alphabet ** order] of float32 or float64, row t the scores of the
    labels (order 1), or of windows of labels, the earliest first, that end at position t. loss may be None:
    the plain conditional random field. Strings of example b have lengths[b] labels, by default as
    many as its reference; what is behind them is padding.

    want names what to compute: log_z, log_z0, expected, risk, score, max_aug, max_score,
    log_z_error (numbers), argmax, viterbi (strings, -1 behind their ends), marginals,
    risk_gradient, hvp, risk_hvp (of the shape and type of theta; hvp and risk_hvp, products of the Hessians
    of log_z and of risk, need direction). less_reference
    subtracts 1 from the marginals at the reference's windows, which makes them the gradient of
    log_z - score. out may give dense arrays, by these names, in which to store them.

    Raises InvalidError, LimitError, CancelledError; their element is the example at fault.
    """
    x, t = _tensor("theta", np.asarray(theta))
    symbols, offsets = pack(references, reference_lengths)
    batch, length, windows = x.shape
    if len(offsets) - 1 != batch:
        raise InvalidError("%d references for a batch of %d" % (len(offsets) - 1, batch))
    _whole("workers", workers, 2**31)
    a = s.EvaluateArgs(gamma=gamma, batch=batch, length=length, window=windows, alphabet=_alphabet(windows, order, alphabet),
                       order=order, workers=workers, less_reference=1 if less_reference else 0)
    a.theta = t
    arrays = {"references": Array(symbols), "offsets": Array(offsets), "theta": Array(x)}
    if loss is not None:
        a.loss = loss.handle()
    if session is not None:
        a.session = session.handle()
    if lengths is not None:
        arrays["lengths"] = Array(_lengths(lengths, batch))
    r = Result()
    for name in want:
        if name in NUMBERS:
            shape, kind = (batch,), np.float64
        elif name in STRINGS:
            shape, kind = (batch, length), np.int32
        elif name in TENSORS:
            shape, kind = x.shape, x.dtype
            setattr(a, name, s.Tensor(type=t.type))
        else:
            raise InvalidError("there is no output %r; there are %s" % (name, ", ".join(NUMBERS + STRINGS + TENSORS)))
        to = out.get(name) if out else None
        if to is None:
            to = np.empty(shape, kind) if session is None else session._room.array(shape, kind)
        elif to.shape != shape or to.dtype != kind or not to.flags.c_contiguous or not to.flags.writeable:
            raise InvalidError("out: %s is to be a dense %s array of shape %s" % (name, np.dtype(kind), shape))
        setattr(r, name, to)
        arrays[name] = Array(to, out=True)
    if direction is not None:
        v, vt = _tensor("direction", np.asarray(direction, x.dtype))
        if v.shape != x.shape:
            raise InvalidError("the direction has the shape %s, theta %s" % (v.shape, x.shape))
        a.direction = vt
        arrays["direction"] = Array(v)
    interruptible("evaluate", a, arrays)
    return r


def sample(loss: Optional[Loss], references: Strings, theta: ArrayLike, count: int, *, seed: int = 0, gamma: float = 1.0,
           order: int = 1, alphabet: Optional[int] = None, reference_lengths: Optional[ArrayLike] = None,
           lengths: Optional[ArrayLike] = None, workers: int = 0, session: Optional[Session] = None) -> np.ndarray:
    """Draws count strings an example under exp(theta + gamma L): int32 [batch, count, length], -1 behind ends."""
    x, t = _tensor("theta", np.asarray(theta))
    symbols, offsets = pack(references, reference_lengths)
    batch, length, windows = x.shape
    if len(offsets) - 1 != batch:
        raise InvalidError("%d references for a batch of %d" % (len(offsets) - 1, batch))
    for name, v, most in (("workers", workers, 2**31), ("seed", seed, 2**64), ("count", count, 2**31)):
        _whole(name, v, most)
    a = s.SampleArgs(gamma=gamma, batch=batch, length=length, window=windows, alphabet=_alphabet(windows, order, alphabet),
                     order=order, workers=workers, seed=seed, count=count)
    a.theta = t
    out = np.empty((batch, count, length), np.int32)
    arrays = {"references": Array(symbols), "offsets": Array(offsets), "theta": Array(x), "strings": Array(out, out=True)}
    if loss is not None:
        a.loss = loss.handle()
    if session is not None:
        a.session = session.handle()
    if lengths is not None:
        arrays["lengths"] = Array(_lengths(lengths, batch))
    interruptible("sample", a, arrays)
    return out


def min_risk(loss: Loss, candidates: Strings, alphabet: int,
             log_weights: Optional[ArrayLike] = None) -> Tuple[int, np.ndarray]:
    """Returns the number of the candidate of least expected loss, and the expected loss of each.

    What is right is distributed over the candidates as exp(log_weights), equally by default."""
    if loss is None:
        raise InvalidError("the candidates need a loss to compare them")
    symbols, offsets = pack(candidates)
    count = len(offsets) - 1
    a = s.MinRiskArgs(loss=loss.handle(), alphabet=alphabet, count=count)
    risks = np.empty(count)
    arrays = {"symbols": Array(symbols), "offsets": Array(offsets), "risks": Array(risks, out=True)}
    if log_weights is not None:
        arrays["log_weights"] = Array(numbers("log_weights", log_weights, (count,)))
    interruptible("min_risk", a, arrays)
    return a.best, risks


class LatticeResult:
    """What lattice computed: log_z, log_z0, expected, risk, max_aug, argmax, and by arc marginals,
    risk_gradient, hvp and risk_hvp."""

    log_z: float
    log_z0: float
    expected: Optional[float]
    risk: Optional[float]
    max_aug: float
    argmax: np.ndarray                   # the labels of the string of max_aug
    marginals: np.ndarray                # [arcs], as those that follow
    risk_gradient: Optional[np.ndarray]
    hvp: Optional[np.ndarray]
    risk_hvp: Optional[np.ndarray]


def lattice(loss: Optional[Loss], arcs: ArrayLike, final: ArrayLike, reference: ArrayLike, *, alphabet: int,
            gamma: float = 1.0, direction: Optional[ArrayLike] = None) -> LatticeResult:
    """Evaluates an acyclic acceptor: arcs is a list or array of (from, to, label, score) in which state 0 is
    the start, final an array of scores by state, -inf where strings do not end."""
    rows = np.asarray(arcs, np.float64).reshape(-1, 4)
    column = [integers(name, rows[:, i], t) for i, (name, t) in
              enumerate((("from", np.int64), ("to", np.int64), ("label", np.int32)))] + [np.ascontiguousarray(rows[:, 3])]
    ends = numbers("final", final, (len(final),))
    ref, _ = pack([reference])
    n = len(rows)
    a = s.LatticeArgs(gamma=gamma, alphabet=alphabet, states=len(ends), arcs=n, reference_count=len(ref), argmax_room=len(ends))
    if loss is not None:
        a.loss = loss.handle()
    r = LatticeResult()
    r.marginals, r.risk_gradient, r.hvp, r.risk_hvp, r.argmax = np.empty(n), np.empty(n), None, None, np.empty(len(ends), np.int32)
    arrays = {"from": Array(column[0]), "to": Array(column[1]), "label": Array(column[2]), "score": Array(column[3]),
              "final": Array(ends), "reference": Array(ref), "marginals": Array(r.marginals, out=True),
              "risk_gradient": Array(r.risk_gradient, out=True), "argmax": Array(r.argmax, out=True)}
    if direction is not None:
        r.hvp, r.risk_hvp = np.empty(n), np.empty(n)
        arrays["direction"] = Array(numbers("direction", direction, (n,)))
        arrays["hvp"] = Array(r.hvp, out=True)
        arrays["risk_hvp"] = Array(r.risk_hvp, out=True)
    interruptible("lattice", a, arrays)
    r.log_z, r.log_z0, r.expected, r.risk, r.max_aug = a.log_z, a.log_z0, a.expected, a.risk, a.max_aug
    r.argmax = r.argmax[:a.argmax_count]
    if loss is None:
        r.risk = r.expected = r.risk_gradient = r.risk_hvp = None
    return r
