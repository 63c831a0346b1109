#!/usr/bin/env python3
"""A neural pronunciation model of Icelandic, trained by likelihood and then on its expected edit distance.

A convolution over the letters of a word scores a phone, or a blank, at every slot: one slot a letter, and one
at each end. The likelihood sums over all ways to place the phones. Then the objective is what the model is
judged by, the expected number of wrong phones, whose gradient is exact: an edit distance in which blanks cost
nothing to delete. Exact machines double with every letter, so words beyond --longest letters are left out of that.

    python3 g2p.py ../../../../testdata/g2p --language ice
"""

import argparse
import os
import time

import numpy as np
import torch

import tropica
from tropica.torch import SequenceLoss

BLANK = 0


def read(path):
    with open(path, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if line.strip()]
    return [(x, y.split()) for x, y in rows]


class Model(torch.nn.Module):
    def __init__(self, letters, phones, width, dropout):
        super().__init__()
        self.embed = torch.nn.Embedding(letters, width, padding_idx=0)
        self.one = torch.nn.Conv1d(width, 2 * width, 5, padding=2)
        self.two = torch.nn.Conv1d(2 * width, 2 * width, 3, padding=1)
        self.out = torch.nn.Conv1d(2 * width, phones, 1)
        self.drop = torch.nn.Dropout(dropout)

    def forward(self, x):
        h = self.drop(self.embed(x)).transpose(1, 2)
        h = self.drop(torch.relu(self.one(h)))
        h = self.drop(torch.relu(self.two(h)) + h)
        return self.out(h).transpose(1, 2)


def likelihood(theta, lengths, phones, counts):
    """The negative log of the probability of all ways to place the phones: by example."""
    p = torch.log_softmax(theta, -1)
    batch, slots, _ = p.shape
    room = int(counts.max())
    emit = p.gather(2, phones[:, None, :room].expand(batch, slots, room))
    none = torch.full((batch, 1), -1e30, dtype=p.dtype)
    alpha = torch.cat([torch.zeros(batch, 1, dtype=p.dtype), none.expand(batch, room)], 1)
    ends = []
    for t in range(slots):
        alpha = torch.logaddexp(alpha + p[:, t, BLANK, None], torch.cat([none, alpha[:, :-1] + emit[:, t]], 1))
        ends.append(alpha)
    ends = torch.stack(ends, 1)
    at = torch.arange(batch)
    return -ends[at, lengths - 1, counts]


def edits(u, r):
    d = np.arange(len(r) + 1)
    for a in u:
        last, d[0] = d[0], d[0] + 1
        for j, b in enumerate(r):
            last, d[j + 1] = d[j + 1], min(d[j + 1] + 1, d[j] + 1, last + (a != b))
    return d[-1]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("data", help="folder of LANGUAGE_train.tsv and LANGUAGE_test.tsv")
    args.add_argument("--language", default="ice")
    args.add_argument("--epochs", type=int, default=60, help="of likelihood")
    args.add_argument("--risk-epochs", type=int, default=15, help="of expected edit distance")
    args.add_argument("--longest", type=int, default=11, help="letters of a word in the expected edit distance")
    args.add_argument("--limit", type=int, default=0, help="words of training; 0 is all")
    args.add_argument("--width", type=int, default=64)
    args.add_argument("--seeds", type=int, default=1)
    o = args.parse_args()
    train = read(os.path.join(o.data, o.language + "_train.tsv"))
    test = read(os.path.join(o.data, o.language + "_test.tsv"))
    if o.limit:
        train = train[:o.limit]
    letters = {c: i + 2 for i, c in enumerate(sorted({c for x, _ in train for c in x}))}
    phones = {c: i + 1 for i, c in enumerate(sorted({c for _, y in train for c in y}))}
    train = [(x, y) for x, y in train if len(y) <= len(x) + 2]
    alphabet = len(phones) + 1

    def batch(rows):
        slots = max(len(x) for x, _ in rows) + 2
        xs = torch.zeros(len(rows), slots, dtype=torch.int64)
        ys = torch.zeros(len(rows), slots, dtype=torch.int64)
        for i, (x, y) in enumerate(rows):
            xs[i, :len(x) + 2] = torch.tensor([1] + [letters.get(c, 0) for c in x] + [1])
            ys[i, :len(y)] = torch.tensor([phones.get(c, 0) for c in y][:slots])
        return xs, torch.tensor([len(x) + 2 for x, _ in rows]), ys, torch.tensor([len(y) for _, y in rows])

    # Deleting a blank costs nothing; for a phone it stands as a phone that is missing.
    sub = np.ones((alphabet, alphabet)) - np.eye(alphabet)
    delete = np.ones(alphabet)
    delete[BLANK] = 0
    risk = SequenceLoss(tropica.Loss("edit", sub=sub, del_=delete), objective="risk", reduction="sum")

    def errors(model):
        model.eval()
        wrong = words = total = 0
        with torch.no_grad():
            xs, lengths, _, _ = batch(test)
            best = model(xs).argmax(-1).numpy()
        for (x, y), row, n in zip(test, best, lengths.tolist()):
            u = [int(k) for k in row[:n] if k != BLANK]
            e = edits(u, [phones.get(c, -1) for c in y])
            wrong, total, words = wrong + e, total + len(y), words + (e > 0)
        return 100 * wrong / total, 100 * words / len(test)

    for seed in range(o.seeds):
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        model = Model(len(letters) + 2, alphabet, o.width, 0.2)

        def epochs(count, rate, objective, name, train=train):
            steps = torch.optim.Adam(model.parameters(), rate)
            begin = time.time()
            for epoch in range(count):
                model.train()
                value = 0.0
                order = rng.permutation(len(train))
                for i in range(0, len(order), 32):
                    rows = [train[k] for k in order[i:i + 32]]
                    xs, lengths, ys, counts = batch(rows)
                    loss = objective(model(xs), lengths, ys, counts) / len(rows)
                    steps.zero_grad()
                    loss.backward()
                    steps.step()
                    value += loss.item() * len(rows)
            phone, word = errors(model)
            print("seed %d, %-22s %3d epochs: objective %.4f a word, test PER %.2f %%, WER %.1f %%, %.1f s"
                  % (seed, name, count, value / len(train), phone, word, time.time() - begin), flush=True)
            return phone

        epochs(o.epochs, 2e-3, lambda t, n, y, c: likelihood(t, n, y, c).sum(), "likelihood")
        before = {k: v.clone() for k, v in model.state_dict().items()}
        epochs(o.risk_epochs, 5e-4, lambda t, n, y, c: likelihood(t, n, y, c).sum(), "likelihood, went on")
        model.load_state_dict(before)
        epochs(o.risk_epochs, 5e-4, lambda t, n, y, c: risk(t, y, c, n), "expected edit distance",
               [(x, y) for x, y in train if len(x) <= o.longest])


main()
