"""Tests of tropica.torch: derivatives, data loaders, interruption, mistakes."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tropica
from tropica.torch import SequenceLoss

LOSSES = {
    "none": None,
    "edit": dict(kind="edit"),
    "weighted": dict(kind="edit", match=-0.5, sub=1.5, ins=1.0, del_=0.75),
    "table": dict(kind="edit", sub=[[0, 1, 2.0], [1, 0, 0.5], [2, 0.5, 0]]),
    "band": dict(kind="edit", band=1),
    "local": dict(kind="local", match=2, sub=-1, ins=-1, del_=-1),
    "ngram": dict(kind="ngram", n=2, c=1.0),
    "hamming": dict(kind="hamming"),
}


def loss_of(name):
    spec = LOSSES[name]
    return None if spec is None else tropica.Loss(**spec)


def case(order=1, alphabet=3, seed=0):
    rng = np.random.default_rng(seed)
    references = [[0, 1, 2, 1], [2, 2], [], [1]]
    theta = torch.tensor(rng.standard_normal((4, 5, alphabet ** order)), requires_grad=True)
    return theta, references


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("objective", ["softmax_margin", "risk", "reward_augmented"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_gradients(name, objective, order):
    if LOSSES[name] is None and objective != "softmax_margin":
        return
    theta, references = case(order)
    gamma = -0.7 if objective == "reward_augmented" else 0.8
    f = SequenceLoss(loss_of(name), gamma=gamma, order=order, objective=objective, reduction="none")
    assert torch.autograd.gradcheck(lambda t: f(t, references), theta, atol=1e-8, rtol=1e-6)
    assert torch.autograd.gradgradcheck(lambda t: f(t, references), theta, atol=1e-8, rtol=1e-6)


@pytest.mark.parametrize("name", ["edit", "ngram"])
def test_max_margin(name):
    theta, references = case(2)
    f = SequenceLoss(loss_of(name), gamma=1.3, order=2, objective="max_margin", reduction="sum")
    assert torch.autograd.gradcheck(lambda t: f(t, references), theta, eps=1e-7, atol=1e-5)


def enumerate_strings(length, alphabet):
    return np.stack(np.meshgrid(*[np.arange(alphabet)] * length, indexing="ij"), -1).reshape(-1, length)


def distance(u, r):
    d = list(range(len(r) + 1))
    for i, a in enumerate(u):
        last, d[0] = d[0], i + 1
        for j, b in enumerate(r):
            last, d[j + 1] = d[j + 1], min(d[j + 1] + 1, d[j] + 1, last + (a != b))
    return d[-1]


def test_enumeration():
    theta, references = case()
    x = theta.detach().numpy()
    r = references[0]
    strings = enumerate_strings(4, 3)
    scores = x[0, np.arange(4), strings].sum(1)
    losses = np.array([distance(u, r) for u in strings])
    z = lambda s: np.log(np.exp(s).sum())
    got = {o: SequenceLoss("edit", gamma=g, objective=o, reduction="none")(theta, references)[0].item()
           for o, g in (("softmax_margin", 0.8), ("risk", 1.0), ("max_margin", 0.8), ("reward_augmented", -0.8))}
    score = x[0, np.arange(4), r].sum()
    p = np.exp(scores - z(scores))
    q = np.exp(-0.8 * losses)
    q /= q.sum()
    assert got["softmax_margin"] == pytest.approx(z(scores + 0.8 * losses) - score, rel=1e-12)
    assert got["risk"] == pytest.approx((p * losses).sum(), rel=1e-12)
    assert got["max_margin"] == pytest.approx((scores + 0.8 * losses).max() - score, rel=1e-12)
    assert got["reward_augmented"] == pytest.approx(z(scores) - (q * scores).sum(), rel=1e-12)


def test_shapes_and_types():
    theta, references = case(2)
    f = SequenceLoss("edit", order=2, reduction="none")
    want = f(theta, references)
    lengths = torch.tensor([4, 2, 0, 1])
    padded = torch.zeros(4, 5, dtype=torch.int64)
    for i, r in enumerate(references):
        padded[i, :len(r)] = torch.tensor(r, dtype=torch.int64)
    assert torch.equal(f(theta, padded, lengths), want)
    strided = torch.zeros(5, 4, 20, dtype=torch.float64)[:, :, ::2][:, :, :9].transpose(0, 1)
    strided.copy_(theta.detach())
    assert torch.equal(f(strided, references), want)
    assert torch.allclose(f(theta.detach().float(), references), want.float(), rtol=1e-5)
    assert f(theta.detach().float(), references).dtype == torch.float32
    assert f(theta[:0], []).shape == (0,)
    g, = torch.autograd.grad(want.sum(), theta)
    assert g[1, 2:].abs().max() == 0 and g[2].abs().max() == 0


def test_workers_same_bits():
    rng = np.random.default_rng(5)
    references = [list(rng.integers(0, 6, rng.integers(0, 9))) for _ in range(40)]
    theta = torch.tensor(rng.standard_normal((40, 9, 36)), requires_grad=True)
    seen = []
    for workers in (1, 2, 3, 7):
        f = SequenceLoss("edit", order=2, reduction="none", workers=workers)
        v = f(theta, references)
        g, = torch.autograd.grad(v.sum(), theta)
        seen.append((v.detach().numpy().tobytes(), g.numpy().tobytes()))
    assert len(set(seen)) == 1


@pytest.mark.parametrize("bad, element, words", [
    (dict(references=[[0], [3], [], []]), 1, "outside the alphabet"),
    (dict(references=[[0], [1]]), -1, "2 references for a batch of 4"),
    (dict(references=[[0] * 6, [], [], []]), 0, "5 positions"),
    (dict(nan=(2, 0)), 2, "NaN"),
    (dict(theta=torch.zeros(4, 5)), -1, "shape"),
    (dict(theta=torch.zeros(4, 5, 3, dtype=torch.float16)), -1, "float16"),
    (dict(references=[[0.5], [], [], []]), 0, "integers"),
])
def test_mistakes(bad, element, words):
    theta, references = case()
    theta = theta.detach()
    references = [[0, 1], [1], [2], [0]]
    if "nan" in bad:
        theta[bad["nan"]] = float("nan")
    with pytest.raises(tropica.TropicaError, match=words) as e:
        SequenceLoss("edit")(bad.get("theta", theta), bad.get("references", references))
    assert e.value.element == element


def test_pickle(tmp_path):
    theta, references = case()
    f = SequenceLoss(tropica.Loss("edit", sub=2.0), gamma=0.5)
    want = f(theta, references)
    want.backward()  # the session has memory now
    torch.save(f, tmp_path / "f")
    more = dict(weights_only=False) if "weights_only" in torch.load.__code__.co_varnames else {}
    for g in (pickle.loads(pickle.dumps(f)), copy.copy(f), copy.deepcopy(f), torch.load(tmp_path / "f", **more)):
        assert g(theta, references).item() == want.item()
    assert not f.state_dict() and not list(f.parameters())


def large():
    """A case whose gradient is large enough for memory that is used again."""
    rng = np.random.default_rng(11)
    references = [list(rng.integers(0, 40, 6)) for _ in range(32)]
    return torch.tensor(rng.standard_normal((32, 8, 40)), requires_grad=True), references


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_backward_twice(reduction):
    """A graph that is kept gives its gradient again, also with a graph of its own."""
    theta, references = case()
    f = SequenceLoss("edit", objective="risk", reduction=reduction)
    v = f(theta, references)
    v = (v * torch.arange(1.0, 5)).sum() if reduction == "none" else v
    first, = torch.autograd.grad(v, theta, retain_graph=True)
    kept = first.clone()
    second, = torch.autograd.grad(v, theta, retain_graph=True)
    third, = torch.autograd.grad(v, theta, create_graph=True)
    assert torch.equal(first, kept) and torch.equal(second, kept) and torch.equal(third.detach(), kept)
    assert third.requires_grad and not second.requires_grad
    if reduction != "none":
        assert torch.autograd.gradcheck(lambda t: f(t, references), theta, atol=1e-8, rtol=1e-6)
        assert torch.autograd.gradgradcheck(lambda t: f(t, references), theta, atol=1e-8, rtol=1e-6)
        values = SequenceLoss("edit", objective="risk", reduction="none")(theta, references)
        assert f(theta, references).item() == pytest.approx(getattr(values, reduction)().item(), rel=1e-14)


def test_memory_is_used_again():
    """Memory of gradients goes from step to step, but for what somebody holds: a gradient, or a part of
    one in numpy or torch."""
    theta, references = large()
    f = SequenceLoss("hamming")
    holds = [lambda g: g, lambda g: g[0], lambda g: g.numpy()[1:3], lambda g: g.view(-1)[5:7].numpy()[::2], lambda g: memoryview(g.numpy())]
    held, addresses = [], set()
    for step in range(40):
        x = (theta * (step + 1)).detach().requires_grad_()
        f(x, references).backward()
        addresses.add(x.grad.data_ptr())
        if step < len(holds):
            part = holds[step](x.grad)
            held.append((part, np.array(part, copy=True)))
    for part, was in held:
        assert np.array_equal(np.asarray(part), was)
    assert len(addresses) <= len(holds) + 3
    r = tropica.evaluate(None, references, theta.detach().numpy(), session=f.session)
    row, was = r.marginals[3], r.marginals[3].copy()
    del r
    for _ in range(5):
        tropica.evaluate(None, references, 2 * theta.detach().numpy(), session=f.session)
    assert np.array_equal(row, was)


def test_layouts_and_devices():
    """Tensors that numpy cannot see are copied, or refused in words."""
    theta, references = large()
    f = SequenceLoss("hamming")
    want = f(theta, references)
    x = theta.detach()
    with pytest.raises(tropica.InvalidError, match="layout"):
        f(x.to_sparse(), references)
    with pytest.raises(tropica.InvalidError, match="meta"):
        f(x.to("meta"), references)
    with pytest.raises(tropica.InvalidError, match="whole|integers"):
        f(x, [torch.tensor([0.5])] * 32)
    negative = torch.complex(torch.zeros_like(x), -x).conj().imag  # numpy refuses its negative bit
    assert negative.is_neg() and torch.equal(f(negative, references), want)


def another_device():
    """A device beside the processor that works without hardware of its own."""
    import torch._lazy
    import torch._lazy.ts_backend
    torch._lazy.ts_backend.init()
    return "lazy"


def on_another_device():
    """Prints whether values and gradients of another device are those of the processor, and what was said."""
    theta, references = case()
    f = SequenceLoss("edit", objective="risk")
    want = f(theta, references)
    gradient, = torch.autograd.grad(want, theta)
    x = theta.detach().to(another_device()).requires_grad_()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            got = f(x, [torch.tensor(r, dtype=torch.int64).to(x.device) for r in references])
            g, = torch.autograd.grad(got, x)
    print(got.device.type, g.device.type, torch.equal(got.cpu(), want), torch.equal(g.cpu(), gradient),
          len([w for w in said if "processor" in str(w.message)]))


def child(call, timeout=120):
    """Runs a call of this module in a process of its own, under a time limit, and returns what it printed."""
    folder = os.path.dirname(os.path.abspath(__file__))
    run = subprocess.run([sys.executable, "-c", "if __name__ == '__main__':\n    import test_torch\n    test_torch.%s" % call],
                         timeout=timeout, capture_output=True, text=True, cwd=folder,
                         env=dict(os.environ, PYTHONPATH=os.path.dirname(folder)))
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_another_device():
    try:
        another = child("another_device()")
    except AssertionError as e:
        pytest.skip("this torch has no device that runs without hardware: %s" % str(e).splitlines()[-1])
    assert another == "" and child("on_another_device()").split() == ["lazy", "lazy", "True", "True", "1"]


def rank(k, n, file, to):
    """One process of n: its share of a batch, through a model whose gradients the processes average."""
    torch.distributed.init_process_group("gloo", init_method="file://" + file, rank=k, world_size=n)
    x, references, model = distributed_case()
    model = torch.nn.parallel.DistributedDataParallel(model)
    f = SequenceLoss("edit", objective="risk", reduction="sum")
    f(model(x[k::n]), references[k::n]).backward()
    if k == 0:
        torch.save([p.grad for p in model.parameters()], to)
    torch.distributed.destroy_process_group()


def distributed_case():
    torch.manual_seed(3)
    rng = np.random.default_rng(12)
    references = [list(rng.integers(0, 3, 4)) for _ in range(8)]
    return torch.randn(8, 4, 5), references, torch.nn.Linear(5, 3)


def distribute(folder):
    """Prints how far two processes' gradients are from those of one."""
    to = os.path.join(folder, "gradients")
    torch.multiprocessing.spawn(rank, (2, os.path.join(folder, "meet"), to), nprocs=2)
    x, references, model = distributed_case()
    SequenceLoss("edit", objective="risk", reduction="sum")(model(x), references).backward()
    print(max(float((2 * g - p.grad).abs().max()) for g, p in zip(torch.load(to), model.parameters())))


@pytest.mark.skipif(not (torch.distributed.is_available() and torch.distributed.is_gloo_available()
                         if hasattr(torch.distributed, "is_gloo_available") else torch.distributed.is_available()),
                    reason="this torch has no gloo")
def test_distributed(tmp_path):
    """DistributedDataParallel over two processes has the gradients of one."""
    assert float(child("distribute(%r)" % str(tmp_path))) < 1e-5


class Data(torch.utils.data.Dataset):
    """Evaluates a loss where the data are loaded."""

    def __init__(self):
        self.f = SequenceLoss("edit", reduction="none")
        self.theta, self.references = case()
        self.theta = self.theta.detach()
        self.f(self.theta, self.references)  # the library runs in the parent

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return self.f(self.theta[i:i + 1], self.references[i:i + 1])


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_data_loader(how):
    """Runs in a process of its own, under a time limit: a loader that hangs hangs no test."""
    assert child("load(%r)" % how).split() == ["same"]


def load(how):
    data = Data()
    want = data.f(data.theta, data.references)
    loader = torch.utils.data.DataLoader(data, batch_size=None, num_workers=2, multiprocessing_context=how)
    got = torch.cat(list(loader))
    print("same" if torch.equal(got, want) else (got, want))


def test_interrupt():
    """Ctrl-C ends a long call within a tenth of a second, or a little more on a busy machine."""
    rng = np.random.default_rng(3)
    references = [list(rng.integers(0, 10, 22)) for _ in range(64)]
    theta = torch.tensor(rng.standard_normal((64, 22, 10)))
    f = SequenceLoss("edit")
    sent = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        f(theta, references)
        time.sleep(5)
    assert time.perf_counter() - sent[0] < 1.0


def test_threads():
    theta, references = case()
    want = SequenceLoss("edit", reduction="none")(theta, references).detach()
    shared = SequenceLoss("edit", reduction="none")
    wrong = []

    def run():
        own = SequenceLoss("edit", reduction="none")
        for _ in range(50):
            if not torch.equal(own(theta, references), want) or not torch.equal(shared(theta, references), want):
                wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
@pytest.mark.parametrize("leak", [0, 256])
def test_no_growth(leak):
    """Memory of the second half of many calls, in a process of their own: what grows with each call does so in most
    parts of it. (Where other tests have left a large heap, the first collection of Go's comes late.)
    A leak of 256 bytes a call is seen."""
    part = 2500 if "TROPICA_LONG" in os.environ else 500
    if leak:
        part = 100
    slopes = [float(x) for x in child("grow(%d, %d)" % (part, leak), 600).split()]
    assert len(slopes) == 20
    assert np.median(slopes) > 100 if leak else np.median(slopes) < 16, slopes


def grow(part, leak):
    """Prints by how many bytes a call memory grew in each part of the second half."""
    theta, references = case()
    f = SequenceLoss("edit")
    at, kept = [], []
    for _ in range(41):
        for _ in range(part):
            f(theta, references).backward()
            if leak:
                kept.append(bytes(leak))
        at.append(resident())
    print(*np.diff(at[20:]) / part)
