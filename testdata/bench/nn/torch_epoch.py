#!/usr/bin/env python3
"""Epochs of the 784-1024-512-128-10 network in PyTorch, float32, batch 128, on data
of MNIST's shape (random: the time does not depend on it). Prints seconds an epoch, by
the clock and of processors, one line an epoch. Examples are drawn by one index of a permutation a batch, without a
DataLoader, whose own cost would be counted against PyTorch.

usage: torch_epoch.py [--threads N] [--method SGD|Adam] [--epochs N] [--batches N]
"""
import argparse
import os
import time

parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--method", default="SGD")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--batches", type=int, default=469, help="of 128, timed; seconds are scaled to 469")
args = parser.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # read when the library is loaded
    os.environ[name] = str(args.threads)

import torch  # noqa: E402

torch.set_num_threads(args.threads)
torch.manual_seed(1)

n, batch = args.batches * 128, 128
x = torch.rand(n, 784) * (torch.rand(n, 784) < 0.2)
y = torch.randint(10, (n,))
layers = []
for a, b in [(784, 1024), (1024, 512), (512, 128)]:
    layers += [torch.nn.Linear(a, b), torch.nn.ReLU()]
model = torch.nn.Sequential(*layers, torch.nn.Linear(128, 10))
if args.method == "SGD":
    step = torch.optim.SGD(model.parameters(), lr=1e-3)
else:
    step = torch.optim.Adam(model.parameters(), lr=1e-3)
loss = torch.nn.CrossEntropyLoss()
for _ in range(args.epochs):
    start, cpu = time.perf_counter(), time.process_time()
    order = torch.randperm(n)
    total = 0.0
    for i in range(0, n, batch):
        rows = order[i : i + batch]
        step.zero_grad()
        value = loss(model(x[rows]), y[rows])
        value.backward()
        step.step()
        total += value.item()
    scale = 469 / args.batches
    print((time.perf_counter() - start) * scale, (time.process_time() - cpu) * scale, flush=True)
