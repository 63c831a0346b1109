#!/usr/bin/env python3
"""Ten logistic regressions, one for each class against the others, by scikit-learn's
SGDClassifier on MNIST, a part of a pass at a time (partial_fit: the same updates at the
same rates as fit's). After each part it prints the seconds of training so far, by the
clock and of processors, and the mean objective
1/10 sum_c ( 1/n sum_i ln(1+exp(-y_ic s_ic)) + alpha/2 |w_c|^2 ),
which is computed while the clock stands still.

usage: sklearn_logistic.py --data FOLDER [--passes N] [--parts N] [--alpha A] [--jobs N]
"""
import argparse
import gzip
import os
import time

import numpy as np
from sklearn.linear_model import SGDClassifier

parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True)
parser.add_argument("--passes", type=int, default=5)
parser.add_argument("--parts", type=int, default=10, help="of a pass, after each of which the objective is computed")
parser.add_argument("--alpha", type=float, default=1e-4)
parser.add_argument("--jobs", type=int, default=2)
args = parser.parse_args()


def read(name, header):
    with gzip.open(os.path.join(args.data, name)) as f:
        return np.frombuffer(f.read(), np.uint8, offset=header)


y = read("train-labels-idx1-ubyte.gz", 8)
x = read("train-images-idx3-ubyte.gz", 16).reshape(len(y), -1) / 255.0
model = SGDClassifier(loss="log_loss", alpha=args.alpha, random_state=1, n_jobs=args.jobs)
rng = np.random.default_rng(1)
classes = np.unique(y)
clock = processor = 0.0


def cpu():
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system


for _ in range(args.passes):
    begin, before = time.perf_counter(), cpu()
    order = rng.permutation(len(y))
    clock, processor = clock + time.perf_counter() - begin, processor + cpu() - before
    for part in np.array_split(order, args.parts):
        px, py = x[part], y[part]  # fit has no such copies: they are not timed
        begin, before = time.perf_counter(), cpu()
        model.partial_fit(px, py, classes=classes)
        clock, processor = clock + time.perf_counter() - begin, processor + cpu() - before
        s = model.decision_function(x)
        z = np.where(y[:, None] == model.classes_[None, :], s, -s)
        objective = np.logaddexp(0, -z).mean() + args.alpha / 2 * (model.coef_**2).sum() / 10
        print(clock, processor, objective, flush=True)
