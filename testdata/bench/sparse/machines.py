"""Kernel machines of scikit-learn on the problems of `learn experiment sparse`.

The signals are drawn by the same law, not the same draws. Each machine chooses C and the width
by five inner folds; a tube has the half-width of ours, three standard deviations of the noise.

    /usr/bin/python3 testdata/bench/sparse/machines.py [repeats] [wifi-localization.csv]
"""
import sys
import numpy as np
try:
    from sklearn.model_selection import GridSearchCV, StratifiedKFold, KFold
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC, SVR
except ImportError:
    sys.exit("scikit-learn is not installed: nothing is compared")

SIDE, NOISE = 5.0, 1e-3


def bumps(rng, m, w):
    c, a = rng.uniform(-SIDE, SIDE, m), rng.uniform(1, 2, m)
    return lambda x: (a * np.exp(-(x[:, None] - c) ** 2 / (2 * w * w))).sum(1)


def machine(x, y, widths):
    grid = {"C": [1, 10, 100, 1000], "gamma": [1 / (2 * w * w) for w in widths]}
    s = GridSearchCV(SVR(epsilon=3 * NOISE ** .5), grid, cv=KFold(5, shuffle=True, random_state=0),
                     scoring="neg_mean_squared_error")
    return s.fit(x[:, None], y).best_estimator_


def signals(repeats):
    print("problem        samples  MSE (median)  support vectors")
    for m in (5, 10, 20):
        for n in (2 * m, 4 * m, 6 * m):
            row = []
            for r in range(repeats):
                rng = np.random.default_rng([m, n, r])
                f = bumps(rng, m, .5)
                x = rng.uniform(-SIDE, SIDE, n)
                s = machine(x, f(x) + NOISE ** .5 * rng.normal(size=n), [.5])
                t = rng.uniform(-SIDE, SIDE, 1000)
                row.append((np.mean((s.predict(t[:, None]) - f(t)) ** 2), len(s.support_)))
            a = np.array(row)
            print(f"{m:2} Gaussians   {n:7}  {np.median(a[:, 0]):12.5g}  {a[:, 1].mean():.1f}")
    for n in (51, 101, 201, 301, 401, 501):
        row = []
        for r in range(repeats):
            rng = np.random.default_rng([n, r])
            f = lambda x: np.sin(.5 * np.pi * x * x)
            x = np.linspace(-SIDE, SIDE, n)
            s = machine(x, f(x) + NOISE ** .5 * rng.normal(size=n), [.1, .15, .2, .3, .5])
            t = rng.uniform(-SIDE, SIDE, 1000)
            row.append((np.mean((s.predict(t[:, None]) - f(t)) ** 2), len(s.support_)))
        a = np.array(row)
        print(f"growing freq.  {n:7}  {np.median(a[:, 0]):12.5g}  {a[:, 1].mean():.1f}")


def rooms(path):
    d = np.loadtxt(path, delimiter=",", skiprows=1)
    x, y = d[:, :-1], d[:, -1]
    for name, make in (("SVC", lambda: GridSearchCV(SVC(), {"C": [1, 10, 100], "gamma": [.001, .003, .01, .03]}, cv=3)),
                       ("5 nearest", lambda: KNeighborsClassifier(5))):
        right, vectors = [], []
        for train, test in StratifiedKFold(10, shuffle=True, random_state=1).split(x, y):
            s = make().fit(x[train], y[train])
            right.append(100 * s.score(x[test], y[test]))
            vectors.append(len(s.best_estimator_.support_) if name == "SVC" else len(train))
        print(f"rooms, {name}: {np.mean(right):.2f} % with {np.mean(vectors):.0f} rows kept")


signals(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
if len(sys.argv) > 2:
    rooms(sys.argv[2])
