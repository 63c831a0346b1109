#!/usr/bin/env python3
"""Kernel matrices, eigenpairs and ridge regression here and in scikit-learn and scipy (Debian:
python3-sklearn), in turn, so that a slow spell of the machine falls on both. Two threads on
both sides; medians of seconds by the clock and of processor seconds, and their ratios.

usage: compare.py MNIST-FOLDER [--rounds N] [--tasks gram,...] [--threads N] [--growth]
"""
import argparse
import os
import statistics
import subprocess
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("folder", help="MNIST's four files")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--tasks", default="gram,top-arpack,top-randomized,ridge,nystrom,nystrom32")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--growth", action="store_true", help="ours alone, for several numbers of rows")
args = parser.parse_args()
here = os.path.dirname(os.path.abspath(__file__))
goals = {"gram": 0.5, "top-arpack": 0.5, "top-randomized": 0.5, "ridge": 1.0, "nystrom": 0.5, "nystrom32": 0.5}
python = next((p for p in ("python3", "/usr/bin/python3")
               if subprocess.run([p, "-c", "import sklearn"], capture_output=True).returncode == 0), None)
if python is None:
    print("scikit-learn: skipped, no python3 here imports sklearn (Debian: python3-sklearn)")
environment = dict(os.environ, GOMAXPROCS=str(args.threads), OPENBLAS_NUM_THREADS=str(args.threads), OMP_NUM_THREADS=str(args.threads))


def run(*command):
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    return tuple(map(float, out.split("\n")[-2].split()))


with tempfile.TemporaryDirectory() as tmp:
    binary = os.path.join(tmp, "kernel")
    subprocess.run(["go", "build", "-o", binary, "."], cwd=here, check=True)
    if args.growth:
        for task, sizes in {"gram": (2500, 5000, 10000), "top": (2500, 5000, 10000), "ridge": (2500, 5000, 10000), "nystrom": (15000, 30000, 60000)}.items():
            for n in sizes:
                seen = [run(binary, task, args.folder, str(n)) for _ in range(args.rounds)]
                clock, cpu = (statistics.median(s[i] for s in seen) for i in (0, 1))
                print(f"{task} n={n}: {clock:.2f} s by the clock, {cpu:.2f} s of processors", flush=True)
        raise SystemExit
    for task in args.tasks.split(","):
        ours, peers = [], []
        for _ in range(args.rounds):
            ours.append(run(binary, "nystrom" if task == "nystrom32" else task.split("-")[0], args.folder))
            if python:
                peers.append(run(python, os.path.join(here, "peer.py"), task, args.folder))
        line = [task]
        for seen in filter(None, (ours, peers)):
            clock, cpu, check = (statistics.median(s[i] for s in seen) for i in (0, 1, 2))
            line.append(f"{clock:.2f} s by the clock, {cpu:.2f} s of processors, check {check:.6g}")
        if python:
            ratio = [statistics.median(s[i] for s in ours) / statistics.median(s[i] for s in peers) for i in (0, 1)]
            line.append(f"ratio {ratio[0]:.2f} (processors {ratio[1]:.2f}), goal {goals[task]}")
        print("; ".join(line), flush=True)
