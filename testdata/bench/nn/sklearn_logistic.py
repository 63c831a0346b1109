#!/usr/bin/env python3
"""Ten logistic regressions, one for each class against the others, by scikit-learn's
SGDClassifier on MNIST. Prints seconds and the mean objective
1/10 sum_c ( 1/n sum_i ln(1+exp(-y_ic s_ic)) + alpha/2 |w_c|^2 ).

usage: sklearn_logistic.py --data FOLDER [--passes N] [--alpha A] [--jobs N]
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
parser.add_argument("--alpha", type=float, default=1e-4)
parser.add_argument("--jobs", type=int, default=2)
args = parser.parse_args()


def read(name, header):
    with gzip.open(os.path.join(args.data, name)) as f:
        return np.frombuffer(f.read(), np.uint8, offset=header)


y = read("train-labels-idx1-ubyte.gz", 8)
x = read("train-images-idx3-ubyte.gz", 16).reshape(len(y), -1) / 255.0
model = SGDClassifier(loss="log_loss", alpha=args.alpha, max_iter=args.passes, tol=None, random_state=1, n_jobs=args.jobs)
start = time.perf_counter()
model.fit(x, y)
seconds = time.perf_counter() - start
s = model.decision_function(x)
z = np.where(y[:, None] == model.classes_[None, :], s, -s)
objective = np.logaddexp(0, -z).mean() + args.alpha / 2 * (model.coef_**2).sum() / 10
print(seconds, objective)
