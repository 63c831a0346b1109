#!/usr/bin/env python3
"""Makes the rows to be timed: data.py FOLDER [higgs-small.csv.gz]. FOLDER/NAME.f32 and NAME.u8.

synthetic: a million rows of 28 columns from SplitMix64 as a counter, so that anybody gets the same.
mixed: 500,000 rows of 50 columns, the first 40 of them continuous, then five of two values and five of ten.
wide: 13,782 x 400, as MNIST's 4 and 9 cut to 20 x 20 in shape: most cells 0, the others 1 to 255; labels by a hidden
rule. Real images are better where there are some: put mnist49.f32 and mnist49.u8 into FOLDER.
small: the rows of the file given (last column: the label, 1 or not), else 10,984 rows of the synthetic ones."""
import csv, gzip, io, sys
import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def uniform(first, n, seed=1):
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(first + 1, first + n + 1, dtype=np.uint64) * GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(40)).astype(np.float64) / 16777216.0


def synthetic(m, d=28, seed=1):
    X = np.concatenate([uniform(i * d, min(100000, m - i) * d, seed).astype(np.float32).reshape(-1, d) for i in range(0, m, 100000)])
    x = X[:, :9].astype(np.float64)
    s = (x[:, 0] - 0.5) + 2 * (x[:, 1] - 0.5) * (x[:, 2] - 0.5) + np.where(x[:, 3] > 0.5, x[:, 4] - 0.5, 0.5 - x[:, 5]) + 0.5 * (x[:, 6] + x[:, 7] + x[:, 8] - 1.5)
    return X, (s > 0) != (uniform(m * d, m, seed) < 0.1)


def mixed(m=500000, seed=11):
    X, y = synthetic(m, 50, seed)
    X[:, 40:45] = np.floor(2 * X[:, 40:45])
    X[:, 45:] = np.floor(10 * X[:, 45:])
    return X, y


def wide(m=13782, d=400):
    u = uniform(0, m * d, seed=7).reshape(m, d)
    ink = np.cos((np.arange(20) - 9.5) / 7)
    X = np.floor(np.clip((u - 1 + 0.6 * np.outer(ink, ink).ravel()) * 600, 0, 255)).astype(np.float32)
    w = uniform(m * d, d, seed=7) - 0.5
    return X, X @ w > np.median(X @ w)


def save(folder, name, X, y):
    np.ascontiguousarray(X, np.float32).tofile(f"{folder}/{name}.f32")
    np.asarray(y).astype(np.uint8).tofile(f"{folder}/{name}.u8")


folder = sys.argv[1]
save(folder, "synthetic", *synthetic(1_000_000))
save(folder, "mixed", *mixed())
save(folder, "wide", *wide())
if len(sys.argv) > 2:
    R = np.array(list(csv.reader(io.TextIOWrapper(gzip.open(sys.argv[2]))))[1:], float)
    save(folder, "small", R[:, :-1], R[:, -1] == 1)
else:
    save(folder, "small", *synthetic(10984))
