#!/usr/bin/env python3
"""Trains the networks of learn/nn/encoder's BenchmarkFit by torch, on one thread: 800 words of 30
letters, 60 labels a letter, cross-entropy by position, batches of 32 words of equal length.

Prints seconds of processor time for an epoch, after one to warm up. Needs torch, and says so without.

    python3 testdata/bench/encoder-torch.py [epochs]
    go test ./learn/nn/encoder -run xxx -bench Fit -cpu 1
"""
import random
import sys
import time

try:
    import torch
except ImportError:
    sys.exit("skipped: torch is not installed (Debian: python3-torch)")
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(1)
random.seed(1)
epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
words = [[random.randrange(30) for _ in range(3 + random.randrange(6) + random.randrange(6))] for _ in range(800)]


class Block(nn.Module):
    def __init__(self, n, share):
        super().__init__()
        self.norm, self.drop, self.conv = nn.LayerNorm(n), nn.Dropout(share), nn.Conv1d(n, n, 5, padding=2)

    def forward(self, h):
        return h + self.conv(self.drop(torch.relu(self.norm(h))).transpose(1, 2)).transpose(1, 2)


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.first, self.drop = nn.Embedding(32, 64), nn.Dropout(.1), nn.Dropout(.4)
        self.up, self.blocks = nn.Linear(64, 128), nn.Sequential(*[Block(128, .4) for _ in range(3)])
        self.norm, self.out = nn.LayerNorm(128), nn.Linear(128, 60)

    def forward(self, x):
        h = self.blocks(self.up(self.first(self.table(x))))
        return self.out(self.drop(torch.relu(self.norm(h)))[:, 1:-1])


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.drop = nn.Embedding(32, 96), nn.Dropout(.4)
        self.lstm = nn.LSTM(96, 128, 2, batch_first=True, bidirectional=True, dropout=.4)
        self.out = nn.Linear(256, 60)

    def forward(self, x):
        return self.out(self.drop(self.lstm(self.drop(self.table(x)))[0])[:, 1:-1])


def batches():
    by = {}
    for w in words:
        by.setdefault(len(w), []).append(w)
    out = [g[i:i + 32] for g in by.values() for i in range(0, len(g), 32)]
    random.shuffle(out)
    return out


for name, net in (("conv", Convolutional()), ("lstm", Recurrent())):
    opt = torch.optim.Adam(net.parameters(), 2e-3)
    for epoch in range(epochs + 1):
        if epoch == 1:
            begin = time.process_time()
        for b in batches():
            y = torch.tensor(b)
            x = torch.nn.functional.pad(y, (1, 0), value=30)
            x = torch.nn.functional.pad(x, (0, 1), value=31)
            loss = nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten(), reduction="sum") / 32
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5)
            opt.step()
    print(f"{name}: {(time.process_time() - begin) / epochs:.3f} s an epoch")
