"""The peers of main.go: scikit-learn and scipy, the same tasks on the same rows.

usage: peer.py TASK MNIST-FOLDER [rows]
"""
import gzip
import resource
import sys
import time

import numpy as np

task, folder = sys.argv[1], sys.argv[2]
rows = int(sys.argv[3]) if len(sys.argv) > 3 else 0


def images(part, n):
    with gzip.open(f"{folder}/{part}-images-idx3-ubyte.gz") as f:
        x = np.frombuffer(f.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(f"{folder}/{part}-labels-idx1-ubyte.gz") as f:
        y = np.frombuffer(f.read(), np.uint8, offset=8)
    n = n or len(x)
    return x[:n] / 255.0, y[:n].astype(int)


def timed(step):
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    check = step()
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    print(f"{clock:.4f} {after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime:.4f} {check:.6g}")


n = rows or {"gram": 10000, "top-arpack": 5000, "top-randomized": 5000, "ridge": 5000, "nystrom": 0, "nystrom32": 0}[task]
x, y = images("train", n)
gamma = 1 / 50
if task == "gram":
    from sklearn.metrics.pairwise import rbf_kernel
    timed(lambda: rbf_kernel(x, gamma=gamma)[0, 1])
elif task.startswith("top-"):
    from sklearn.decomposition import KernelPCA
    from sklearn.metrics.pairwise import rbf_kernel
    k = rbf_kernel(x, gamma=gamma)
    timed(lambda: KernelPCA(50, kernel="precomputed", eigen_solver=task[4:], random_state=1).fit(k).eigenvalues_[49])
elif task == "ridge":
    from scipy.linalg import cho_factor, cho_solve
    from sklearn.metrics.pairwise import rbf_kernel
    k = rbf_kernel(x, gamma=gamma)
    labels = np.where(y[:, None] == np.arange(10), 1.0, -1.0)

    def solve():
        g = k.copy()
        g.flat[:: len(g) + 1] += 0.1
        return cho_solve(cho_factor(g, lower=True, overwrite_a=True, check_finite=False), labels, check_finite=False)[0, 0]

    timed(solve)
else:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import RidgeClassifier
    from sklearn.pipeline import make_pipeline
    test, truth = images("t10k", 0)
    if task == "nystrom32":
        x, test = x.astype(np.float32), test.astype(np.float32)
    timed(lambda: 100 * np.mean(make_pipeline(Nystroem(gamma=gamma, n_components=2000, random_state=1), RidgeClassifier(alpha=0.1)).fit(x, y).predict(test) != truth))
