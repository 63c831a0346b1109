"""Tests of tropica on numpy arrays: agreement with fst loss, machines, both backends."""

import faulthandler
import gc
import inspect
import json
import os
import signal
import subprocess
import sys
import time
import typing

import numpy as np
import pytest

import tropica
from tropica.losses import Packed, pack


@pytest.fixture(params=["library", "worker"])
def where(request):
    tropica.use(request.param)
    yield request.param
    tropica.use("auto")


SPECS = [dict(kind="edit"), dict(kind="edit", sub=1.5, ins=0.5, band=1), dict(kind="edit", cap=1.5),
         dict(kind="local", match=2), dict(kind="ngram", n=2, c=0.5), dict(kind="hamming", scale=2)]


@pytest.mark.skipif("TROPICA_FST" not in os.environ, reason="TROPICA_FST names no program fst")
@pytest.mark.parametrize("order", [1, 2, 3])
def test_as_fst_loss(where, order):
    rng = np.random.default_rng(order)
    cases, got = [], []
    for spec in SPECS:
        theta = rng.standard_normal((1, 5, 3 ** order))
        rows = [theta[0, t, :3 ** min(order, t + 1)].tolist() for t in range(5)]
        v = rng.standard_normal(theta.shape)
        ref = rng.integers(0, 3, 5).tolist()
        cases.append(json.dumps(dict(alphabet=3, l=5, q=order, gamma=0.7, yi=ref, theta=rows, loss=spec,
                                     v=[v[0, t, :3 ** min(order, t + 1)].tolist() for t in range(5)])))
        fields = {k: x for k, x in spec.items() if k != "kind"}
        got.append(tropica.evaluate(tropica.Loss(spec["kind"], **fields), [ref], theta, gamma=0.7, order=order, direction=v,
                                    want=("log_z", "log_z0", "expected", "risk", "max_aug", "marginals", "risk_gradient", "hvp")))
    run = subprocess.run([os.environ["TROPICA_FST"], "loss"], input="\n".join(cases), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for line, r in zip(run.stdout.splitlines(), got):
        want = json.loads(line)
        for name, key in (("log_z", "log_z"), ("log_z0", "log_z0"), ("expected", "exp_loss"), ("risk", "risk"), ("max_aug", "max_aug")):
            assert getattr(r, name)[0] == pytest.approx(want[key], rel=1e-12, abs=1e-12), name
        for name, key in (("marginals", "q"), ("risk_gradient", "risk_grad"), ("hvp", "hvp")):
            for t, row in enumerate(want[key]):
                np.testing.assert_allclose(getattr(r, name)[0, t, :len(row)], row, rtol=1e-12, atol=1e-12, err_msg=name)


def test_lattice_is_potentials(where):
    rng = np.random.default_rng(4)
    theta = rng.standard_normal((1, 3, 2))
    arcs = [(t, t + 1, k, theta[0, t, k]) for t in range(3) for k in range(2)]
    v = rng.standard_normal(6)
    loss = tropica.Loss("edit")
    a = tropica.lattice(loss, arcs, [-np.inf] * 3 + [0.0], [0, 1], alphabet=2, gamma=0.5, direction=v)
    b = tropica.evaluate(loss, [[0, 1]], theta, lengths=[3], gamma=0.5, direction=v.reshape(1, 3, 2),
                         want=("log_z", "risk", "marginals", "risk_gradient", "hvp", "risk_hvp", "argmax"))
    assert a.log_z == pytest.approx(b.log_z[0], rel=1e-12) and a.risk == pytest.approx(b.risk[0], rel=1e-12)
    for x, y in ((a.marginals, b.marginals), (a.risk_gradient, b.risk_gradient), (a.hvp, b.hvp), (a.risk_hvp, b.risk_hvp)):
        np.testing.assert_allclose(x, y.reshape(-1), rtol=1e-9, atol=1e-12)
    assert a.argmax.tolist() == b.argmax[0].tolist()


def test_transducer_loss(where):
    # The Hamming distance over two symbols.
    u = tropica.Fst.from_text("0 0 1 1\n0 0 2 2\n0 0 1 2 1\n0 0 2 1 1\n0\n")
    theta = np.random.default_rng(1).standard_normal((2, 4, 2))
    refs = [[0, 1, 1, 0], [1, 1]]
    a = tropica.evaluate(tropica.Loss.transducer(u), refs, theta)
    b = tropica.evaluate(tropica.Loss("hamming"), refs, theta)
    np.testing.assert_allclose(a.log_z, b.log_z, rtol=1e-12)
    np.testing.assert_allclose(a.marginals, b.marginals, atol=1e-12)


def test_samples_and_risk(where):
    theta = np.zeros((2, 3, 2))
    theta[:, :, 1] = 1.0
    s = tropica.sample(None, [[0, 0, 0], [0]], theta, 2000, seed=3)
    assert s.shape == (2, 2000, 3) and (s[1, :, 1:] == -1).all()
    assert abs((s[0] == 1).mean() - np.exp(1) / (1 + np.exp(1))) < 0.02
    best, risks = tropica.min_risk(tropica.Loss("edit"), [[0, 0], [0, 1], [0, 1, 1]], 2, np.log([0.3, 0.4, 0.3]))
    assert best == 1
    np.testing.assert_allclose(risks, [0.4 + 0.6, 0.6, 0.3 * 2 + 0.4])


def test_machines(where, tmp_path):
    a = tropica.accep("ab")
    t = tropica.Fst.from_text("0 0 97 99 1\n0 0 98 98\n0\n")
    b = tropica.compose(a, t)
    assert tropica.shortestpath(b).string() == "cb"
    assert tropica.shortestdistance(b) == 1
    b.write(tmp_path / "b.fst")
    assert tropica.Fst.read(tmp_path / "b.fst") == b
    x = b.arrays()
    again = tropica.Fst.from_arrays(x["start"], x["from"], x["to"], x["ilabel"], x["olabel"], x["weight"], x["final"])
    assert again == b and b.num_arcs() == len(x["weight"]) == 2
    d = tropica.minimize(tropica.determinize(tropica.rmepsilon(tropica.accep("ab") | tropica.accep("cb"))))
    assert d.num_states() == 3
    assert tropica.convert(b, "log").arc_type() == "log"
    with pytest.raises(tropica.InvalidError, match="standard and log"):
        tropica.compose(b, tropica.convert(b, "log"))
    with pytest.raises(tropica.TropicaError):
        tropica.Fst(b"not a machine")


def test_float32_and_padding(where):
    theta = np.random.default_rng(2).standard_normal((3, 4, 3)).astype(np.float32)
    r = tropica.evaluate(tropica.Loss("edit"), [[0], [], [1, 2, 0, 1]], theta, want=("log_z", "marginals", "argmax"))
    assert r.marginals.dtype == np.float32
    np.testing.assert_allclose(r.marginals.sum(-1), [[1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]], atol=1e-6)
    assert (r.argmax[0, 1:] == -1).all() and (r.argmax[1] == -1).all()


def test_mistakes(where):
    loss = tropica.Loss("edit")
    theta = np.zeros((2, 3, 2))
    for args, words in (
        (dict(references=[[0], [2]]), "outside the alphabet"),
        (dict(references=[[0]]), "1 references for a batch of 2"),
        (dict(references=[[0], [0] * 4]), "3 positions"),
        (dict(theta=np.zeros((2, 3, 2), int)), "int64"),
        (dict(want=("nothing",)), "no output"),
        (dict(gamma=float("nan")), "gamma"),
        (dict(order=2), "windows"),
    ):
        with pytest.raises(tropica.InvalidError, match=words):
            call = dict(references=[[0], [1]], theta=theta)
            call.update(args)
            tropica.evaluate(loss, call.pop("references"), call.pop("theta"), **call)
    with pytest.raises(tropica.InvalidError, match="frobnicate"):
        tropica.Loss("frobnicate")
    with pytest.raises(tropica.LimitError):
        tropica.evaluate(tropica.Loss("edit", limit=1 << 16), [list(range(10)) * 2], np.zeros((1, 20, 10)))


def test_worker_ends():
    """A worker that dies is an error of the calls that it has, and the next call has a new one."""
    tropica.use("worker")
    try:
        loss = tropica.Loss("edit")
        assert tropica.evaluate(loss, [[0]], np.zeros((1, 1, 2))).log_z.shape == (1,)
        first = tropica.backend()
        first._process.kill()
        for _ in range(100):
            try:
                tropica.evaluate(loss, [[0]], np.zeros((1, 1, 2)))
                if tropica.backend() is not first:
                    break
            except tropica.TropicaError as e:
                assert "ended" in str(e)
        assert tropica.backend() is not first
        assert tropica.evaluate(loss, [[0]], np.zeros((1, 1, 2))).log_z.shape == (1,)
    finally:
        tropica.use("auto")


def test_collected_anywhere(where):
    """What a collection finds may be freed in any thread, at any point of a call: none waits for ever."""
    faulthandler.dump_traceback_later(60, exit=True)
    b = tropica.backend()
    if where == "worker":  # the thread that reads answers collects before each
        exactly = b._exactly
        b._exactly = lambda n: (gc.collect(), exactly(n))[1]
    gc.disable()
    try:
        for _ in range(5):
            loss = tropica.Loss("edit")
            loss.cycle = [loss]
            del loss
            tropica.evaluate(None, [[0]], np.zeros((1, 1, 2)))
        if where == "library":
            gc.collect()
    finally:
        gc.enable()
        faulthandler.cancel_dump_traceback_later()
        if where == "worker":
            del b._exactly


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_worker_ends_with_its_parent():
    """A child of fork that outlives its parent does not keep the parent's worker."""
    program = """if True:
        import os, signal, time, tropica
        tropica.use("worker")
        tropica.Loss("edit")
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        print(tropica.backend()._process.pid, child, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True,
                              env=dict(os.environ, PYTHONPATH=folder))
    worker, child = map(int, parent.stdout.readline().split())
    parent.wait(30)
    try:
        end = time.time() + 10
        while time.time() < end and running(worker):
            time.sleep(0.05)
        assert not running(worker)
    finally:
        os.kill(child, signal.SIGKILL)
        parent.stdout.close()


def running(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_shapes_are_checked(where):
    """Arrays that are too short, rounded or beyond their type are errors: they were read beyond their ends."""
    loss, theta = tropica.Loss("edit"), np.zeros((2, 3, 4))
    chain = [(0, 1, 0, 0.0), (0, 1, 1, 0.0)]
    for call, words in (
        (lambda: tropica.sample(loss, [[0], [1]], theta, 2, lengths=[1]), "lengths"),
        (lambda: tropica.evaluate(loss, [[0], [1]], theta, lengths=[1.7, 2]), "whole"),
        (lambda: tropica.evaluate(loss, np.zeros((2, 3), int), theta, reference_lengths=[1.5, 2]), "whole"),
        (lambda: tropica.evaluate(loss, [[0], [1]], theta, order=0), "order"),
        (lambda: tropica.lattice(loss, chain, [-np.inf, 0], [0], alphabet=2, direction=[1]), "direction"),
        (lambda: tropica.lattice(loss, [(0, 1, 2.0 ** 32, 0)], [-np.inf, 0], [0], alphabet=2), "32 bits"),
        (lambda: tropica.lattice(loss, [(0, 1, np.nan, 0)], [-np.inf, 0], [0], alphabet=2), "whole"),
        (lambda: tropica.Fst.from_arrays(0, [0], [1], [2 ** 32 + 5], [1], [0], [np.inf, 0]), "32 bits"),
        (lambda: tropica.Fst.from_arrays(0, [0.7], [1], [5], [1], [0], [np.inf, 0]), "whole"),
        (lambda: tropica.min_risk(None, [[0]], 3), "loss"),
        (lambda: tropica.Loss.transducer(b""), "0 bytes"),
        (lambda: tropica.prune(tropica.accep("a"), float("inf")), "finite"),
        (lambda: tropica.shortestpath(tropica.accep("a"), 0), "nshortest"),
        (lambda: tropica.evaluate(tropica.Loss("edit", sub=np.inf), [[0], [1]], theta), "finite"),
        (lambda: tropica.Fst.from_arrays(-1, [], [], [], [], [], []).string(), "none"),
    ):
        with pytest.raises(tropica.InvalidError, match=words):
            call()


def test_out(where):
    """Results are stored in given arrays, in place of new ones, and padding is cleared in them."""
    theta = np.random.default_rng(8).standard_normal((3, 4, 3))
    refs = [[0], [], [1, 2, 0, 1]]
    for t in (theta, theta.astype(np.float32)):
        want = tropica.evaluate(tropica.Loss("edit"), refs, t)
        to = np.full(t.shape, 7, t.dtype)
        got = tropica.evaluate(tropica.Loss("edit"), refs, t, out=dict(marginals=to))
        assert got.marginals is to and np.array_equal(to, want.marginals)
        for bad in (np.empty(t.shape, np.int32), np.empty((3, 4, 6), t.dtype)[:, :, ::2], np.empty((2, 4, 3), t.dtype)):
            with pytest.raises(tropica.InvalidError, match="dense"):
                tropica.evaluate(tropica.Loss("edit"), refs, t, out=dict(marginals=bad))


def test_types_take_turns(where):
    """Rows of float64 are the caller's: a session that has seen them writes to none of them later."""
    rng = np.random.default_rng(9)
    a, refs, session, loss = rng.standard_normal((2, 4, 3)), [[0, 1, 2, 1], [2, 0]], tropica.Session(), tropica.Loss("edit")
    first = tropica.evaluate(loss, refs, a, session=session, want=("marginals", "hvp"), direction=a)
    kept, m, h = a.copy(), first.marginals.copy(), first.hvp.copy()
    b = rng.standard_normal((2, 4, 3)).astype(np.float32)
    second = tropica.evaluate(loss, refs, b, session=session, want=("marginals", "hvp"), direction=b)
    assert np.array_equal(a, kept) and np.array_equal(first.marginals, m) and np.array_equal(first.hvp, h)
    want = tropica.evaluate(loss, refs, b.astype(np.float64), want=("marginals",)).marginals
    np.testing.assert_allclose(second.marginals, want, atol=1e-7)


def test_hostile_arguments(where):
    """What a call cannot mean is an error that says so: nothing is wrapped, rounded, or read beyond its end."""
    loss, theta, refs = tropica.Loss("edit"), np.zeros((2, 3, 4)), [[0], [1]]
    good = pack(refs)
    huge = np.broadcast_to(np.zeros(1), (1 << 20, 1 << 20, 1 << 10))
    for call, kind, words in (
        (lambda: tropica.evaluate(loss, Packed(good.symbols.astype(float), good.offsets), theta), tropica.InvalidError, "symbols"),
        (lambda: tropica.evaluate(loss, Packed(good.symbols[:1], good.offsets), theta), tropica.InvalidError, "last ends"),
        (lambda: tropica.evaluate(loss, Packed(good.symbols, good.offsets[::2]), theta), tropica.InvalidError, "offsets"),
        (lambda: tropica.evaluate(loss, Packed(good.symbols, np.array([0, 5, 2])), theta), tropica.InvalidError, "element 0"),
        (lambda: tropica.evaluate(loss, Packed(good.symbols, np.array([-1, 1, 2])), theta), tropica.InvalidError, "element 0"),
        (lambda: tropica.evaluate(loss, refs, theta, workers=-1), tropica.InvalidError, "workers"),
        (lambda: tropica.evaluate(loss, refs, theta, workers=2**64 + 1), tropica.InvalidError, "workers"),
        (lambda: tropica.evaluate(loss, refs, theta, workers=1.5), tropica.InvalidError, "workers"),
        (lambda: tropica.evaluate(loss, [[0], [2**40]], theta), tropica.InvalidError, "element 1"),
        (lambda: tropica.evaluate(loss, [[0], [-1]], theta), tropica.InvalidError, "element 1"),
        (lambda: tropica.evaluate(loss, [[0], ["a"]], theta), tropica.InvalidError, "element 1"),
        (lambda: tropica.evaluate(loss, [[0], [[1]]], theta), tropica.InvalidError, "element 1"),
        (lambda: tropica.evaluate(loss, refs, theta, lengths=[1, 2**40]), tropica.InvalidError, "element 1"),
        (lambda: tropica.evaluate(loss, refs, theta, lengths=[-1, 1]), tropica.InvalidError, "element 0"),
        (lambda: tropica.evaluate(loss, np.zeros((2, 3), int), theta, reference_lengths=[1, 4]), tropica.InvalidError, "element 1"),
        (lambda: tropica.evaluate(loss, refs, theta.astype(np.float16)), tropica.InvalidError, "float16"),
        (lambda: tropica.evaluate(loss, refs, theta.astype(">f8")), tropica.InvalidError, "float64"),
        (lambda: tropica.evaluate(loss, refs, theta.astype(complex)), tropica.InvalidError, "complex"),
        (lambda: tropica.evaluate(loss, refs, theta.astype(object)), tropica.InvalidError, "object"),
        (lambda: tropica.evaluate(loss, refs, theta[0]), tropica.InvalidError, "shape"),
        (lambda: tropica.evaluate(loss, refs, theta[:, :, :0]), tropica.InvalidError, "alphabet"),
        (lambda: tropica.evaluate(loss, refs, theta + np.nan), tropica.InvalidError, "element 0.*NaN"),
        (lambda: tropica.evaluate(loss, refs, theta + np.inf), tropica.InvalidError, "element 0"),
        (lambda: tropica.evaluate(loss, refs, theta, want=("hvp",)), tropica.InvalidError, "direction"),
        (lambda: tropica.evaluate(loss, refs, theta, want=("hvp",), direction=theta[:1]), tropica.InvalidError, "direction"),
        (lambda: tropica.evaluate(loss, [[]] * (1 << 20), huge), (tropica.TropicaError, MemoryError, ValueError), ""),
        (lambda: tropica.sample(None, refs, theta, -1), tropica.InvalidError, "count"),
        (lambda: tropica.sample(None, refs, theta, 2**64), tropica.InvalidError, "count"),
        (lambda: tropica.sample(None, refs, theta, 1, seed=-1), tropica.InvalidError, "seed"),
        (lambda: tropica.min_risk(loss, [], 3), tropica.InvalidError, "0 candidates"),
        (lambda: tropica.min_risk(loss, [[0], [3]], 3), tropica.InvalidError, "element 1"),
        (lambda: tropica.min_risk(loss, [[0], [1]], 3, [0, np.nan]), tropica.InvalidError, "element 1"),
        (lambda: tropica.lattice(loss, [(0, 1, 0, 0.0), (1, 0, 0, 0.0)], [0, 0], [0], alphabet=2), tropica.InvalidError, "cycl"),
        (lambda: tropica.lattice(loss, [(0, 7, 0, 0.0)], [0, 0], [0], alphabet=2), tropica.InvalidError, "state"),
        (lambda: tropica.lattice(loss, [(0, 1, 0, np.nan)], [0, 0], [0], alphabet=2), tropica.InvalidError, ""),
        (lambda: tropica.Loss("edit", limit=2**64), tropica.InvalidError, "limit"),
        (lambda: tropica.Loss("edit", band=-1), tropica.InvalidError, "band"),
        (lambda: tropica.Fst(tropica.accep("ab").write_to_string()[:-3]), tropica.TropicaError, ""),
    ):
        with pytest.raises(kind, match=words):
            call()
    # Empty batches, strings and lattices are none of these.
    assert tropica.lattice(loss, [], [], [0], alphabet=2).log_z == -np.inf
    assert tropica.evaluate(loss, [], theta[:0]).log_z.shape == (0,)
    assert tropica.evaluate(loss, [[], []], theta).log_z.tolist() == [0, 0]
    assert tropica.evaluate(loss, [[], []], theta[:, :0]).marginals.shape == (2, 0, 4)
    assert tropica.sample(None, refs, theta, 0).shape == (2, 0, 3)


def test_packed_everywhere(where):
    theta = np.random.default_rng(7).standard_normal((2, 3, 4))
    refs, loss = [[1, 2], [3]], tropica.Loss("edit")
    packed = pack(refs)
    assert tropica.evaluate(loss, packed, theta).log_z.tolist() == tropica.evaluate(loss, refs, theta).log_z.tolist()
    assert np.array_equal(tropica.sample(loss, packed, theta, 5), tropica.sample(loss, refs, theta, 5))
    assert tropica.min_risk(loss, packed, 4)[0] == tropica.min_risk(loss, refs, 4)[0]


def test_types():
    """Whatever the package exports says what it takes and returns."""
    for name in dir(tropica):
        f = getattr(tropica, name)
        if inspect.ismodule(f) or name.startswith("_") or inspect.isclass(f) and issubclass(f, Exception) or name == "backend":
            continue
        calls = [f.__init__] + [m for k, m in vars(f).items() if not k.startswith("_")] if inspect.isclass(f) else [f]
        for c in calls:
            c = getattr(c, "__func__", c)
            if not inspect.isfunction(c) or not c.__module__.startswith("tropica") or name == "LatticeResult":
                continue
            hints = typing.get_type_hints(c, dict(vars(sys.modules[c.__module__]), Fst=tropica.Fst))
            missing = [p for p, v in inspect.signature(c).parameters.items()
                       if p not in ("self", "cls") and p not in hints]
            assert not missing and (c.__doc__ or c.__name__ == "__init__"), (name, c.__name__, missing)
            assert c.__name__ == "__init__" or "return" in hints, (name, c.__name__)


def test_tuple_of_references(where):
    """Two arrays are two references, not symbols and where they begin."""
    theta = np.random.default_rng(7).standard_normal((2, 3, 4))
    refs = np.array([1, 2]), np.array([0, 1, 2])
    a, b = (tropica.evaluate(None, r, theta, want=("score",)).score for r in (refs, list(refs)))
    assert a.tolist() == b.tolist()


def test_pack():
    symbols, offsets = pack([[1, 2], [], np.array([3])])
    assert symbols.tolist() == [1, 2, 3] and offsets.tolist() == [0, 2, 2, 3]
