#!/usr/bin/env python3
"""An epoch of the 784-1024-512-128-10 network (float32, 60,000 examples in batches of
128) here and in PyTorch (Debian: python3-torch), in turn, so that a slow spell of the
machine falls on both. For one thread and two: medians of seconds by the clock, and of
processor seconds, which another load on the machine disturbs less.

usage: compare.py [--rounds N] [--batches N] [--method SGD|Adam] [--gonum]
"""
import argparse
import os
import re
import resource
import statistics
import subprocess
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--batches", type=int, default=100)
parser.add_argument("--method", default="SGD")
parser.add_argument("--gonum", action="store_true", help="gonum's matrix products too")
parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
args = parser.parse_args()
here = os.path.dirname(os.path.abspath(__file__))
python = next((p for p in ("python3", "/usr/bin/python3")
               if subprocess.run([p, "-c", "import torch"], capture_output=True).returncode == 0), None)
if python is None:
    print("PyTorch: skipped, no python3 here imports torch (Debian: python3-torch)")

with tempfile.TemporaryDirectory() as tmp:
    binary = os.path.join(tmp, "nn.test")
    package = os.path.join(here, "../../../learn/nn")
    subprocess.run(["go", "test", "-c", "-o", binary, "."], cwd=package, check=True)

    def ours(name):
        def once(batches):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            out = subprocess.run([binary, "-test.run=^$", "-test.bench=^BenchmarkBatch$/" + name, f"-test.benchtime={batches}x"],
                                 capture_output=True, text=True, check=True).stdout
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            clock = float(re.search(r"([\d.]+) s/epoch", out).group(1))
            return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        clock, more = once(args.batches)
        _, less = once(2)  # data and parameters are made twice in either
        return clock, (more - less) / (args.batches - 2) * 60000 / 128

    def torch(threads):
        out = subprocess.run([python, os.path.join(here, "torch_epoch.py"), "--threads", str(threads), "--method", args.method,
                              "--epochs", "2", "--batches", str(args.batches)], capture_output=True, text=True, check=True).stdout
        return tuple(map(float, out.split("\n")[1].split()))  # the first epoch warms up

    for threads in args.threads:
        runs = {"ours": lambda: ours(f"method={args.method}/workers={threads}$")}
        if python:
            runs["PyTorch"] = lambda: torch(threads)
        if args.gonum and threads > 1:
            runs["on gonum's products"] = lambda: ours("method=SGD/kernels=gonum$")
        seen = {name: [] for name in runs}
        for _ in range(args.rounds):
            for name, run in runs.items():
                seen[name].append(run())
        for name, values in seen.items():
            clock, cpu = (statistics.median(v[i] for v in values) for i in (0, 1))
            ratios = [v[i] / o[i] for i in (0, 1) for v, o in zip(values, seen["ours"])]
            r = [statistics.median(ratios[i * args.rounds:(i + 1) * args.rounds]) for i in (0, 1)]
            print(f"threads={threads} {args.method:5} {name:20} {clock:8.2f} s/epoch ({r[0]:.2f} of ours), processors {cpu:8.2f} s ({r[1]:.2f} of ours)", flush=True)
