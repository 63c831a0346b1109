#!/usr/bin/env python3
"""What columns of many levels cost in error on new rows: levels.py DATA LEARN [LEARN ...]

Each LEARN is a build of our command: an earlier one beside the present shows a difference. Rows of the report: the logistic
loss (regression: squared error / variance) on fresh rows of gb and rgb, and of HistGradientBoosting with its own treatment of
categories; without the columns of levels and with them. "says" are levels that bear on the target. On adult (uci/adult-train and
-test of DATA) all columns are there, and the error in per cent is shown as well. --rounds=100 for ours."""
import csv, gzip, math, os, subprocess, sys, tempfile, warnings

os.environ["OMP_NUM_THREADS"] = "1"
try:
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingClassifier
except ImportError as e:
    print("SKIPPED: %s (Debian: python3-sklearn)" % e)
    sys.exit(0)
warnings.filterwarnings("ignore")
data, builds = sys.argv[1], sys.argv[2:]


def write(path, X, L, y):
    with open(path, "w") as f:
        w = csv.writer(f)
        w.writerow(["x%d" % j for j in range(X.shape[1])] + ["l%d" % j for j in range(L.shape[1])] + ["target"])
        for a, b, c in zip(X, L, y):
            w.writerow(["" if v != v else repr(float(v)) for v in a] + ["" if v < 0 else "v%d" % v for v in b] + ["class%d" % c])


def ours(learn, group, folder):
    m = folder + "/m"
    run = lambda *a: subprocess.run([learn, group, *a], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run("train", folder + "/train.csv", "--target=target", "--task=classification", "--rounds=100", "--workers=1", "--model=" + m)
    run("predict", folder + "/test.csv", "--model=" + m, "--output=probabilities", "--predictions=" + m + ".csv")
    rows = list(csv.DictReader(open(m + ".csv")))
    return np.array([float(r["class1"]) for r in rows])


def loss(p, y):
    p = np.clip(np.where(y == 1, p, 1 - p), 1e-15, 1)
    return -np.log(p).mean()


def hist(X, L, y, X2, L2):
    cat = np.r_[np.zeros(X.shape[1], bool), np.ones(L.shape[1], bool)]
    fit = lambda X, L: np.hstack([X, np.where(L < 0, np.nan, L)])
    m = HistGradientBoostingClassifier(categorical_features=cat if L.shape[1] else None, random_state=0, early_stopping=False)
    return m.fit(fit(X, L), y).predict_proba(fit(X2, L2))[:, 1]


def compare(name, X, L, y, X2, L2, y2):
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        write(folder + "/train.csv", X, L, y)
        write(folder + "/test.csv", X2, L2, y2)
        for b in builds:
            for g in ("gb", "rgb", "adaboost"):
                p = ours(b, g, folder)
                cells += ["%.4f" % loss(p, y2), "%.2f" % (100 * np.mean((p > 0.5) != y2))]
    p = hist(X, L, y, X2, L2)
    cells += ["%.4f" % loss(p, y2), "%.2f" % (100 * np.mean((p > 0.5) != y2))]
    print(name, *cells, sep="\t", flush=True)


print("table", *["%s %s %s" % (g, w, k + 1) for k in range(len(builds)) for g in ("gb", "rgb", "adaboost") for w in ("loss", "error")], "hist loss", "hist error", sep="\t")
rng = np.random.default_rng(17)
n, fresh = 2000, 4000
none = np.zeros((n, 0), int), np.zeros((fresh, 0), int)


def numbers(m):
    X = rng.normal(size=(m, 5))
    return X, X[:, 0] + X[:, 1] * X[:, 2]


X, s = numbers(n)
X2, s2 = numbers(fresh)
draw = lambda s: (rng.uniform(size=len(s)) < 1 / (1 + np.exp(-1.5 * s))).astype(int)
y, y2 = draw(s), draw(s2)
compare("no levels", X, *none[:1], y, X2, none[1], y2)
for name, levels, columns in (("250 levels of a row each", None, 1), ("200 levels", 200, 1), ("3 x 60 levels", 60, 3), ("5 x 20 levels", 20, 5)):
    if levels is None:
        L = np.full((n, 1), 0)
        L[:250, 0] = np.arange(1, 251)
        L2 = np.zeros((fresh, 1), int)
    else:
        L, L2 = rng.integers(levels, size=(n, columns)), rng.integers(levels, size=(fresh, columns))
    compare(name, X, L, y, X2, L2, y2)
ids = np.arange(250)[:, None]
compare("250 rows, each its level", X[:250], ids, y[:250], X2, np.full((fresh, 1), -1), y2)
compare("250 rows, no levels", X[:250], none[0][:250], y[:250], X2, none[1], y2)
for levels in (8, 40, 150):
    e = rng.normal(size=levels)
    L, L2 = rng.integers(levels, size=(n, 1)), rng.integers(levels, size=(fresh, 1))
    y, y2 = draw(s + e[L[:, 0]]), draw(s2 + e[L2[:, 0]])
    compare("says, %d levels" % levels, X, L, y, X2, L2, y2)
    compare("  without it", X, none[0], y, X2, none[1], y2)


def adult(part):
    rows = list(csv.reader(gzip.open(os.path.join(data, "uci/adult-%s.csv.gz" % part), "rt")))[1:]
    return [r for r in rows if len(r) == 15]


def number(v):
    try:
        float(v)
        return True
    except ValueError:
        return False


train, test = adult("train"), adult("test")
numeric = [j for j in range(14) if number(train[0][j])]
other = [j for j in range(14) if j not in numeric]
index = {j: {v: k for k, v in enumerate(sorted({r[j].strip() for r in train} - {"?"}))} for j in other}
split = lambda rows: (np.array([[float(r[j]) for j in numeric] for r in rows]), np.array([[index[j].get(r[j].strip(), -1) for j in other] for r in rows]), np.array([int(">50K" in r[14]) for r in rows]))
compare("adult", *split(train), *split(test))
