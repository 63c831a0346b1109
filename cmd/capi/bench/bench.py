#!/usr/bin/env python3
"""What the Python package costs beside Go's losses.Batch, and beside what a user would pick instead.

    cmd/capi/build.sh /tmp/built
    TROPICA_LIBRARY=/tmp/built/libtropica.so TROPICA_FST=/tmp/built/fst cmd/capi/bench/bench.py

Times are of the processor, since the machine may have other work; medians of rounds that take turns.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "python"))

import numpy as np  # noqa: E402

import tropica  # noqa: E402

try:
    import torch
    from tropica.torch import SequenceLoss
except ImportError:
    torch = None


def processor(f, n):
    """Seconds of processor time, and of the clock, of a call of f, the mean of n."""
    p, t = time.process_time(), time.perf_counter()
    for _ in range(n):
        f()
    return (time.process_time() - p) / n, (time.perf_counter() - t) / n


class Go:
    """losses.Batch in a process of its own."""

    def __init__(self, program, references, theta, band, workers):
        rows = [theta[i, :len(r)].reshape(-1).tolist() for i, r in enumerate(references)]
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._say(json.dumps(dict(Alphabet=theta.shape[2], Band=band, Workers=workers, References=references, Theta=rows)))

    def _say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def run(self, n):
        self._say(str(n))
        clock, used = map(float, self.process.stdout.readline().split())
        return used / n, clock / n

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def batch(shortest, longest, seed=1, count=64, alphabet=40):
    rng = np.random.default_rng(seed)
    references = [rng.integers(0, alphabet, rng.integers(shortest, longest + 1)).tolist() for _ in range(count)]
    return references, rng.standard_normal((count, longest, alphabet))


def throughput(program, a):
    print("## Throughput: 64 references over 40 labels, log Z and gradient, against losses.Batch\n")
    print("| lengths | loss | workers | Go ms | evaluate ms | torch ms | evaluate / Go | torch / Go |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for shortest, longest, band, n, rounds in ((10, 20, 3, 10, 2 * a.rounds), (10, a.longest, 0, 1, a.rounds)):
        references, theta = batch(shortest, longest)
        for workers in (1, 2):
            go = Go(program, references, theta, band, workers)
            session = tropica.Session()
            loss = tropica.Loss("edit", **({"band": band} if band else {}))
            packed = tropica.losses.pack(references)
            calls = [lambda: tropica.evaluate(loss, packed, theta, session=session, workers=workers)]
            if torch is not None:
                criterion = SequenceLoss(loss, workers=workers)
                x = torch.tensor(theta, requires_grad=True)

                def step():
                    x.grad = None
                    criterion(x, references).backward()
                calls.append(step)
            go.run(2)
            for f in calls:
                f()
                f()
            times = []
            for _ in range(rounds):
                times.append([go.run(n)[0]] + [processor(f, n)[0] for f in calls])
            go.close()
            t = np.array(times)
            ratio = np.median(t[:, :1] / t, axis=0)
            ms = ["%.2f" % (1e3 * v) for v in np.median(t, axis=0)] + ["-"]
            r = ["%.3f" % v for v in ratio[1:]] + ["-"]
            print("| %d to %d | %s | %d | %s | %s | %s | %s | %s |" % (
                shortest, longest, "edit, band %d" % band if band else "edit", workers, ms[0], ms[1], ms[2], r[0], r[1]), flush=True)


def overhead(program, a):
    print("\n## Overhead of a call: one example of two positions over 40 labels\n")
    print("| call | processor us | clock us, median | least |")
    print("| --- | --- | --- | --- |")
    references, theta = batch(2, 2, count=1)
    go = Go(program, references, theta, 0, 1)
    go.run(1000)

    def row(name, f, n):
        f()
        t = np.array([f(n) if name == "losses.Batch" else processor(f, n) for _ in range(4 * a.rounds)]) * 1e6
        print("| %s | %.1f | %.1f | %.1f |" % ((name,) + tuple(np.median(t, axis=0)) + (t[:, 1].min(),)), flush=True)

    times = np.array([go.run(2000) for _ in range(4 * a.rounds)]) * 1e6
    print("| losses.Batch | %.1f | %.1f | %.1f |" % (tuple(np.median(times, axis=0)) + (times[:, 1].min(),)))
    go.close()
    for where in ("library", "worker"):
        tropica.use(where)
        loss, session, packed = tropica.Loss("edit"), tropica.Session(), tropica.losses.pack(references)
        row("evaluate, %s" % where, lambda: tropica.evaluate(loss, packed, theta, session=session), 500)
        others = [tropica.losses.pack([[i, j]]) for i in range(40) for j in range(40)]
        turn = itertools.cycle(others)
        row("evaluate, %s, another reference each time" % where,
            lambda: tropica.evaluate(loss, next(turn), theta, session=session), 500)
    tropica.use("library")
    if torch is not None:
        criterion, x = SequenceLoss(tropica.Loss("edit")), torch.tensor(theta, requires_grad=True)
        row("torch, forward and backward", lambda: criterion(x, references).backward(), 500)
        row("torch's own sum, forward and backward", lambda: x.sum().backward(), 500)


def sampled(theta, references, n):
    """A user's own minimum risk: strings of each example drawn from the softmax, their edit distances, and
    the score-function gradient with the mean of the other samples as baseline."""
    b, length, _ = theta.shape
    dist = torch.distributions.Categorical(logits=theta)
    u = dist.sample((n,))                                     # [n, batch, length]
    distance = distances(u.reshape(-1, length).numpy(), np.tile(references, (n, 1))).reshape(n, b)
    d = torch.from_numpy(distance)
    baseline = (d.sum(0, keepdim=True) - d) / (n - 1)
    loss = ((d - baseline) * dist.log_prob(u).sum(-1)).mean(0).sum()
    return torch.autograd.grad(loss, theta)[0]


def distances(u, r):
    """Edit distances of the rows of two arrays, all at a time."""
    k, m = u.shape[0], r.shape[1]
    d = np.repeat(np.arange(m + 1.0)[None], k, 0)
    places = np.arange(m + 1.0)
    for t in range(u.shape[1]):
        best = np.minimum(d[:, 1:] + 1, d[:, :-1] + (r != u[:, t:t + 1]))
        first = d[:, :1] + 1
        # Insertions run along the row: a running minimum of what is left when each costs 1.
        d = np.minimum.accumulate(np.concatenate([first, best], 1) - places, 1) + places
    return d[:, -1]


def instead(a):
    print("\n## The exact gradient of the risk, and what a user would pick instead\n")
    if torch is None:
        print("Skipped: there is no torch.")
        return
    torch.set_num_threads(1)
    length = a.risk_length
    references, _ = batch(length, length, count=16)
    refs = np.array(references)
    x = torch.tensor(np.random.default_rng(3).standard_normal((16, length, 40)) * 2, requires_grad=True)
    criterion = SequenceLoss(tropica.Loss("edit"), objective="risk", reduction="sum", workers=1)
    exact = lambda: torch.autograd.grad(criterion(x, references), x)[0]
    g = exact()
    torch.manual_seed(1)
    print("16 references of %d over 40 labels, one thread; the error is the root of the mean of |g - exact|^2 / |exact|^2.\n" % length)
    print("| gradient | ms | error | ms at an error of 1 % |")
    print("| --- | --- | --- | --- |")
    t = np.median([processor(exact, 1)[0] for _ in range(2 * a.rounds)])
    print("| exact | %.1f | 0 | %.1f |" % (1e3 * t, 1e3 * t))
    for n in (16, 64, 256):
        f = lambda: sampled(x, refs, n)
        f()
        errors = [float(((f() - g) ** 2).sum() / (g ** 2).sum()) for _ in range(a.samples)]
        t = np.median([processor(f, 1)[0] for _ in range(2 * a.rounds)])
        e = np.sqrt(np.mean(errors))
        print("| %d samples | %.1f | %.3f | %.0f |" % (n, 1e3 * t, e, 1e3 * t * (e / 0.01) ** 2), flush=True)
    logits = torch.tensor(np.random.default_rng(2).standard_normal((40, 16, 41)), dtype=torch.float32, requires_grad=True)
    targets = torch.tensor(refs + 1)
    full = torch.full((16,), 40), torch.full((16,), length)

    def ctc():
        loss = torch.nn.functional.ctc_loss(torch.log_softmax(logits, -1), targets, *full, reduction="sum")
        torch.autograd.grad(loss, logits)
    ctc()
    print("| torch's CTC, 40 frames (for scale) | %.1f | | |" % (1e3 * np.median([processor(ctc, 3)[0] for _ in range(2 * a.rounds)])))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--longest", type=int, default=20, help="of references under the exact edit distance")
    p.add_argument("--risk-length", type=int, default=12)
    p.add_argument("--samples", type=int, default=20, help="gradients drawn to measure an error")
    p.add_argument("--only", choices=("throughput", "overhead", "instead"))
    a = p.parse_args()
    tropica.use("library")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "bench")
        subprocess.run(["go", "build", "-o", program, "./bench"], check=True, cwd=os.path.join(here, ".."),
                       env=dict(os.environ, CGO_ENABLED="0"))
        for part, f in (("throughput", lambda: throughput(program, a)), ("overhead", lambda: overhead(program, a)), ("instead", lambda: instead(a))):
            if a.only in (None, part):
                f()


main()
