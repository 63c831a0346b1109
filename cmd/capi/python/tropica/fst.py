"""Weighted transducers, under the names that pynini gives operations where it has them.

    a = tropica.accep("abc")
    b = tropica.Fst.from_text("0 0 97 98 0.5\\n0 0 98 98\\n0 0 99 99\\n0\\n")
    print(tropica.shortestpath(tropica.compose(a, b)).string())
"""

from __future__ import annotations

import json
import os
from typing import Dict, Optional, Union

import numpy as np
from numpy.typing import ArrayLike

from . import _structs as s
from ._backend import Array, Held, InvalidError, interruptible, backend
from .losses import integers, numbers

TYPES = ("standard", "log", "log64")


class Fst(Held):
    """A weighted transducer, never changed: operations return new ones. Weights are of type
    "standard" (tropical), "log" or "log64"."""

    def __init__(self, data: bytes) -> None:
        """Of the bytes of a binary file."""
        super().__init__()
        self._data = bytes(data)
        self.handle()

    def _make(self, b):
        data = np.frombuffer(self._data, np.uint8)
        a = s.MachineReadArgs(bytes=data.size)
        b.call("machine_read", a, {"data": Array(data)})
        return a.machine

    @classmethod
    def _of(cls, handle, b):
        """Of a handle, which the machine then owns."""
        f = cls.__new__(cls)
        Held.__init__(f)
        a = s.MachineWriteArgs(machine=handle)
        b.call("machine_write", a, {})
        data = np.empty(a.needed, np.uint8)
        a.room = data.size
        b.call("machine_write", a, {"data": Array(data, out=True)})
        b.call("free", s.HandleArgs(handle=handle), {})
        f._data = data.tobytes()
        return f

    @classmethod
    def read(cls, path: Union[str, os.PathLike]) -> Fst:
        """Reads a file of OpenFst's binary format."""
        with open(path, "rb") as f:
            return cls(f.read())

    @classmethod
    def read_from_string(cls, data: bytes) -> Fst:
        """Of the bytes of a binary file."""
        return cls(data)

    @classmethod
    def from_text(cls, text: str, arc_type: str = "standard") -> Fst:
        """Of OpenFst's text format, with numbers as labels."""
        data = np.frombuffer(text.encode(), np.uint8)
        a = s.MachineReadArgs(bytes=data.size, text=1, type=_type(arc_type))
        b = backend()
        b.call("machine_read", a, {"data": Array(data)})
        return cls._of(a.machine, b)

    @classmethod
    def from_arrays(cls, start: int, from_: ArrayLike, to: ArrayLike, ilabel: ArrayLike, olabel: ArrayLike, weight: ArrayLike,
                    final: ArrayLike, arc_type: str = "standard") -> Fst:
        """Of arrays by arc, and final weights by state, inf where a state is not final."""
        columns = [integers(name, x, t) for name, x, t in (("from", from_, np.int64), ("to", to, np.int64),
                                                           ("ilabel", ilabel, np.int32), ("olabel", olabel, np.int32))]
        columns.append(np.ascontiguousarray(weight, np.float64))
        if len({x.shape for x in columns}) != 1 or columns[0].ndim != 1:
            raise InvalidError("arrays by arc have the shapes %s" % [x.shape for x in columns])
        ends = numbers("final", final, (len(final),))
        a = s.MachineArcsArgs(type=_type(arc_type), states=len(ends), arcs=len(columns[0]), start=start)
        b = backend()
        b.call("machine_arcs", a, {n: Array(x) for n, x in zip(("from", "to", "ilabel", "olabel", "weight"), columns)} | {"final": Array(ends)})
        return cls._of(a.machine, b)

    def write_to_string(self) -> bytes:
        """The bytes of a binary file."""
        return self._data

    def write(self, path: Union[str, os.PathLike]) -> None:
        """Writes a file of OpenFst's binary format."""
        with open(path, "wb") as f:
            f.write(self._data)

    def _sizes(self):
        a = s.MachineSizesArgs(machine=self.handle())
        backend().call("machine_sizes", a, {})
        return a

    def arc_type(self) -> str:
        """The type of the weights."""
        return TYPES[self._sizes().type]

    def num_states(self) -> int:
        """The number of states."""
        return self._sizes().states

    def num_arcs(self) -> int:
        """The number of arcs of all states."""
        return self._sizes().arcs

    def start(self) -> int:
        """The start state, -1 where there is none."""
        return self._sizes().start

    def arrays(self) -> Dict[str, Union[np.ndarray, int]]:
        """A dict of from, to, ilabel, olabel, weight by arc, final by state, and start."""
        n = self._sizes()
        out = {"from": np.empty(n.arcs, np.int64), "to": np.empty(n.arcs, np.int64), "ilabel": np.empty(n.arcs, np.int32),
               "olabel": np.empty(n.arcs, np.int32), "weight": np.empty(n.arcs), "final": np.empty(n.states)}
        backend().call("machine_copy", s.MachineCopyArgs(machine=self.handle()), {k: Array(v, out=True) for k, v in out.items()})
        out["start"] = n.start
        return out

    def print(self) -> str:
        """OpenFst's text format."""
        b = backend()
        a = s.MachineWriteArgs(machine=self.handle(), text=1)
        b.call("machine_write", a, {})
        data = np.empty(a.needed, np.uint8)
        a.room = data.size
        b.call("machine_write", a, {"data": Array(data, out=True)})
        return data.tobytes().decode()

    def string(self) -> str:
        """The output string of a machine with one path, bytes as labels."""
        a = self.arrays()  # arcs come by state
        q, out, seen = a["start"], bytearray(), 0
        if q < 0:
            raise InvalidError("the machine has not one path but none or several")
        first = np.searchsorted(a["from"], np.arange(len(a["final"]) + 1))
        while True:
            arcs = range(first[q], first[q + 1])
            ends = a["final"][q] != np.inf
            if len(arcs) + ends != 1 or seen > len(a["final"]):
                raise InvalidError("the machine has not one path but none or several")
            if ends:
                break
            label = int(a["olabel"][arcs[0]])
            if label > 255:
                raise InvalidError("label %d is no byte" % label)
            if label:
                out.append(label)
            q, seen = int(a["to"][arcs[0]]), seen + 1
        return out.decode()

    def __matmul__(self, other: Fst) -> Fst:
        return compose(self, other)

    def __add__(self, other: Fst) -> Fst:
        return concat(self, other)

    def __or__(self, other: Fst) -> Fst:
        return union(self, other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fst) and equal(self, other)

    __hash__ = None


def _type(name):
    if name not in TYPES:
        raise InvalidError("%r is none of %s" % (name, ", ".join(TYPES)))
    return TYPES.index(name)


def _operate(name, a, b=None, limit=0, **options):
    for k, v in options.items():
        if isinstance(v, float) and not np.isfinite(v):
            raise InvalidError("%s: %s is %r, not a finite number" % (name, k, v))
    word = np.frombuffer(name.encode(), np.uint8)
    text = np.frombuffer(json.dumps({k: v for k, v in options.items() if v is not None}).encode(), np.uint8)
    args = s.MachineOperateArgs(name_bytes=word.size, options_bytes=text.size, a=a.handle(), b=b.handle() if b is not None else 0, limit=limit)
    interruptible("machine_operate", args, {"name": Array(word), "options": Array(text)})
    if args.machine:
        return Fst._of(args.machine, backend())
    return args.answer


def accep(string: Union[str, bytes], weight: float = 0.0, arc_type: str = "standard") -> Fst:
    """The acceptor of a string, bytes as labels."""
    data = string.encode() if isinstance(string, str) else bytes(string)
    n = len(data)
    final = np.full(n + 1, np.inf)
    final[n] = weight
    labels = np.frombuffer(data, np.uint8).astype(np.int32)
    if n and labels.min() == 0:
        raise InvalidError("byte 0 would be epsilon")
    return Fst.from_arrays(0, np.arange(n), np.arange(1, n + 1), labels, labels, np.zeros(n), final, arc_type)


def compose(a: Fst, b: Fst, limit: int = 0) -> Fst:
    """The relation of a followed by b."""
    return _operate("compose", a, b, limit)


def intersect(a: Fst, b: Fst, limit: int = 0) -> Fst:
    """The strings of both acceptors."""
    return _operate("intersect", a, b, limit)


def union(a: Fst, b: Fst) -> Fst:
    """The strings of either."""
    return _operate("union", a, b)


def concat(a: Fst, b: Fst) -> Fst:
    """Strings of a followed by strings of b."""
    return _operate("concat", a, b)


def closure(a: Fst, lower: int = 0) -> Fst:
    """Repetitions, from lower (0 or 1) on."""
    if lower not in (0, 1):
        raise InvalidError("lower is %r, not 0 or 1" % (lower,))
    return _operate("closure", a, plus=bool(lower))


def invert(a: Fst) -> Fst:
    """Input and output exchanged."""
    return _operate("invert", a)


def project(a: Fst, project_type: str = "input") -> Fst:
    """The acceptor of the "input" or the "output" strings."""
    if project_type not in ("input", "output"):
        raise InvalidError("project_type %r is neither input nor output" % (project_type,))
    return _operate("project", a, output=project_type == "output")


def connect(a: Fst) -> Fst:
    """Without states that are on no path."""
    return _operate("connect", a)


def arcsort(a: Fst, sort_type: str = "ilabel") -> Fst:
    """With arcs sorted by "ilabel" or "olabel"."""
    if sort_type not in ("ilabel", "olabel"):
        raise InvalidError("sort_type %r is neither ilabel nor olabel" % (sort_type,))
    return _operate("arcsort", a, output=sort_type == "olabel")


def topsort(a: Fst) -> Fst:
    """With states numbered so that arcs go forward."""
    return _operate("topsort", a)


def rmepsilon(a: Fst, limit: int = 0) -> Fst:
    """Without arcs that read and write nothing."""
    return _operate("rmepsilon", a, limit=limit)


def determinize(a: Fst, det_type: str = "functional", delta: Optional[float] = None, limit: int = 0) -> Fst:
    """Deterministic on the input side."""
    return _operate("determinize", a, limit=limit, type=det_type, delta=delta)


def minimize(a: Fst, delta: Optional[float] = None) -> Fst:
    """The least deterministic machine."""
    return _operate("minimize", a, delta=delta)


def push(a: Fst, push_labels: bool = False, to_final: bool = False) -> Fst:
    """With weights, or labels, pushed to the start, or to the ends."""
    return _operate("push", a, labels=push_labels, to_final=to_final)


def shortestpath(a: Fst, nshortest: int = 1, unique: bool = False, threshold: Optional[float] = None, limit: int = 0) -> Fst:
    """The best paths."""
    if nshortest < 1:
        raise InvalidError("nshortest is %r, not at least 1" % (nshortest,))
    return _operate("shortestpath", a, limit=limit, n=nshortest, unique=unique, threshold=threshold)


def prune(a: Fst, weight: float, limit: int = 0) -> Fst:
    """Without paths worse than the best one by more than weight."""
    return _operate("prune", a, limit=limit, threshold=weight)


def convert(a: Fst, arc_type: str) -> Fst:
    """The same numbers as weights of another type."""
    return _operate("convert", a, to=arc_type)


def shortestdistance(a: Fst) -> float:
    """The sum of the weights of all paths."""
    return _operate("shortestdistance", a)


def equal(a: Fst, b: Fst, delta: float = 0.0) -> bool:
    """Whether two machines are the same, state by state."""
    return bool(_operate("equal", a, b, delta=delta))


def isomorphic(a: Fst, b: Fst, delta: float = 0.0) -> bool:
    """Whether two machines are the same but for the numbers of states."""
    return bool(_operate("isomorphic", a, b, delta=delta))


def equivalent(a: Fst, b: Fst, delta: float = 0.0) -> bool:
    """Whether two deterministic acceptors give every string the same weight."""
    return bool(_operate("equivalent", a, b, delta=delta))
