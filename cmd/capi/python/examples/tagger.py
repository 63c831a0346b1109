#!/usr/bin/env python3
"""A neural part-of-speech tagger, trained by likelihood and then on its expected number of wrong tags.

An LSTM in both directions reads words and their last letters, and emits a score for each pair of
neighbouring tags. Both objectives are exact: a conditional random field, then the risk under the Hamming distance.

    python3 tagger.py ../../../../testdata/ud-english-ewt-sample
"""

import argparse
import gzip
import os
import time

import numpy as np
import torch

import tropica
from tropica.torch import SequenceLoss


def read(path, longest):
    """Sentences of a CoNLL-U file as (words, tags)."""
    out, words, tags = [], [], []
    with gzip.open(path, "rt", encoding="utf-8") as f:
        for line in list(f) + ["\n"]:
            cells = line.rstrip("\n").split("\t")
            if len(cells) >= 4 and cells[0].isdigit():
                words.append(cells[1].lower())
                tags.append(cells[3])
            elif not line.strip():
                if 0 < len(words) <= longest:
                    out.append((words, tags))
                words, tags = [], []
    return out


class Model(torch.nn.Module):
    def __init__(self, words, ends, tags, width):
        super().__init__()
        self.tags = tags
        self.word = torch.nn.Embedding(words, width)
        self.end = torch.nn.Embedding(ends, width)
        self.lstm = torch.nn.LSTM(2 * width, width, batch_first=True, bidirectional=True)
        self.out = torch.nn.Linear(2 * width, tags)
        self.pair = torch.nn.Parameter(torch.zeros(tags, tags))
        self.drop = torch.nn.Dropout(0.3)

    def forward(self, words, ends):
        h, _ = self.lstm(self.drop(torch.cat([self.word(words), self.end(ends)], -1)))
        scores = self.out(self.drop(h))
        pairs = scores[:, :, None, :] + self.pair  # [batch, length, tag before, tag]
        first = torch.zeros_like(pairs[:, 0]).reshape(len(words), -1)
        first = torch.cat([scores[:, 0], first[:, self.tags:]], 1)  # row 0 has windows of one tag
        return torch.cat([first[:, None], pairs[:, 1:].reshape(len(words), -1, self.tags ** 2)], 1)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("data", help="folder of train.conllu.gz and test.conllu.gz")
    args.add_argument("--epochs", type=int, default=8, help="of likelihood")
    args.add_argument("--risk-epochs", type=int, default=4, help="of the expected number of wrong tags")
    args.add_argument("--longest", type=int, default=40, help="words of a sentence of training")
    args.add_argument("--limit", type=int, default=0, help="sentences of training; 0 is all")
    args.add_argument("--width", type=int, default=64)
    args.add_argument("--seed", type=int, default=0)
    o = args.parse_args()
    train = read(os.path.join(o.data, "train.conllu.gz"), o.longest)
    test = read(os.path.join(o.data, "test.conllu.gz"), 1 << 30)
    if o.limit:
        train, test = train[:o.limit], test[:o.limit]
    number = lambda values: {v: i + 1 for i, v in enumerate(sorted(values))}
    words = number({w for ws, _ in train for w in ws})
    ends = number({w[-3:] for ws, _ in train for w in ws})
    tags = {v: i for i, v in enumerate(sorted({t for _, ts in train for t in ts}))}

    def batch(rows):
        length = max(len(ws) for ws, _ in rows)
        x = torch.zeros(2, len(rows), length, dtype=torch.int64)
        for i, (ws, _) in enumerate(rows):
            x[0, i, :len(ws)] = torch.tensor([words.get(w, 0) for w in ws])
            x[1, i, :len(ws)] = torch.tensor([ends.get(w[-3:], 0) for w in ws])
        return x

    def errors(model):
        model.eval()
        wrong = total = 0
        for i in range(0, len(test), 32):
            rows = test[i:i + 32]
            with torch.no_grad():
                theta = model(*batch(rows)).numpy()
            n = [len(ws) for ws, _ in rows]
            best = tropica.evaluate(None, [[]] * len(rows), theta, order=2, lengths=n, want=("viterbi",)).viterbi
            for u, (_, ts) in zip(best, rows):
                wrong += sum(int(k) != tags.get(t, -1) for k, t in zip(u, ts))
                total += len(ts)
        return 100 * wrong / total

    torch.manual_seed(o.seed)
    rng = np.random.default_rng(o.seed)
    model = Model(len(words) + 1, len(ends) + 1, len(tags), o.width)

    def epochs(count, rate, objective, name):
        steps = torch.optim.Adam(model.parameters(), rate)
        begin = time.time()
        for _ in range(count):
            model.train()
            value, order = 0.0, rng.permutation(len(train))
            for i in range(0, len(order), 32):
                rows = [train[k] for k in order[i:i + 32]]
                loss = objective(model(*batch(rows)), [[tags[t] for t in ts] for _, ts in rows]) / len(rows)
                steps.zero_grad()
                loss.backward()
                steps.step()
                value += loss.item() * len(rows)
        print("%-26s %3d epochs: objective %.4f a sentence, test error %.2f %%, %.1f s"
              % (name, count, value / len(train), errors(model), time.time() - begin), flush=True)

    epochs(o.epochs, 3e-3, SequenceLoss(None, order=2, reduction="sum"), "likelihood")
    epochs(o.risk_epochs, 1e-3, SequenceLoss("hamming", order=2, objective="risk", reduction="sum"), "expected wrong tags")


main()
