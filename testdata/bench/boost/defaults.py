#!/usr/bin/env python3
"""Our boosters, XGBoost and scikit-learn's HistGradientBoosting, each as it comes, side by side on the same divisions:

    defaults.py LEARN DATA [--only NAME,...] [--trials N] [--rgb FLAGS] [--gb FLAGS]

LEARN is our command, DATA the folder with uci, mnist, ... The tables and a few fresh synthetic ones (new numbers for
every --seed) are divided N times (10), two thirds for training; a table of more than 9,000 rows is cut down to so many rows
first. Errors are in per cent for classes, and for numbers the root of the mean squared error, in per cent of the target's
standard deviation. Each of ours is compared with each peer by the t-test corrected for training parts that overlap (Nadeau
and Bengio 2003); the last lines are over tables: mean ratio of errors, and how often ours is better or worse at p < .05.

Nothing was chosen on these divisions: see NOTES.md for how the defaults were. Needs Debian's python3-xgboost and
python3-sklearn, else it says SKIPPED."""
import argparse, csv, gzip, math, os, subprocess, sys, tempfile, warnings

os.environ["OMP_NUM_THREADS"] = "1"  # read when the libraries are loaded; threads that wait spin
try:
    import numpy as np
    import xgboost
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.preprocessing import OneHotEncoder
    from scipy import stats
except ImportError as e:
    print("SKIPPED: %s (Debian: python3-xgboost, python3-sklearn)" % e)
    sys.exit(0)
warnings.filterwarnings("ignore")

TABLES = {  # file, target, columns that are no features
    "sonar": ("uci/sonar.csv", -1, []),
    "cancer": ("uci/breast-cancer-wisconsin.csv", -1, []),
    "diabetes": ("uci/pima-diabetes.csv", -1, []),
    "wifi": ("uci/wifi-localization.csv", -1, []),
    "semeion": ("semeion/semeion.csv.gz", -1, []),
    "activity": ("activity/wisdm-v1.1-transformed.csv.gz", -1, ["UNIQUE_ID", "user"]),
    "ocr17": ("mnist/ocr17-14x14.csv.gz", -1, ["mnist_train_index"]),
    "ocr49": ("mnist/ocr49-14x14.csv.gz", -1, ["mnist_train_index"]),
    "higgs": ("higgs/higgs-small.csv.gz", -1, []),
    "adult": ("uci/adult-train.csv.gz", -1, []),
}


class Table:
    def __init__(self, name, X, categorical, y, classes):
        self.name, self.X, self.categorical, self.y, self.classes = name, X, categorical, y, classes


def read(folder, name):
    file, target, drop = TABLES[name]
    path = os.path.join(folder, file)
    f = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    rows = list(csv.reader(f))
    head, rows = rows[0], rows[1:]
    keep = [j for j in range(len(head) - 1) if head[j] not in drop]
    missing = ("?", "", "NA")
    columns, categorical = [], []
    for j in keep:
        values = [r[j].strip() for r in rows]
        try:
            columns.append([math.nan if v in missing else float(v) for v in values])
            categorical.append(False)
        except ValueError:
            levels = {v: k for k, v in enumerate(sorted(set(values) - set(missing)))}
            columns.append([levels.get(v, math.nan) for v in values])
            categorical.append(True)
    labels = [r[target] for r in rows]
    names = sorted(set(labels))
    return Table(name, np.array(columns).T, np.array(categorical), np.array([names.index(v) for v in labels]), len(names))


def synthetic(seed):
    """Fresh tables: regression with an offset, Friedman's functions, steps and noise columns; classes of several shapes."""
    rng = np.random.default_rng(seed)

    def table(name, X, y, classes=0):
        return Table(name, X, np.zeros(X.shape[1], bool), y, classes)

    out = []
    X = rng.normal(size=(3000, 8))
    out.append(table("reg-offset", X, X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=3000) + 2000))
    X = rng.uniform(size=(1500, 10))
    out.append(table("reg-friedman1", X, 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(size=1500)))
    X = rng.uniform(size=(6000, 12))
    out.append(table("reg-steps", X, 1e6 * (np.floor(4 * X[:, 0]) * (X[:, 1] > 0.4) + 3 * (X[:, 2] * X[:, 3] > 0.3) + 0.5 * rng.normal(size=6000))))
    X = rng.normal(size=(400, 6))
    out.append(table("reg-small", X, 1e-3 * (X @ rng.normal(size=6) + np.abs(X[:, 0]) + rng.normal(size=400))))
    X = rng.normal(size=(2000, 20))
    y = np.exp(0.7 * X[:, 0] - 0.5 * np.abs(X[:, 1])) + 0.2 * rng.standard_t(4, size=2000)
    out.append(table("reg-skewed", X, y))
    X = rng.normal(size=(5404, 5))
    centres = rng.normal(size=(24, 5)) * 1.3
    d = ((X[:, None, :] - centres) ** 2).sum(2)
    y = (np.argmin(d, 1) % 3 == 0) ^ (rng.uniform(size=5404) < 0.04)
    out.append(table("cls-cells", X, y.astype(int), 2))
    X = rng.normal(size=(1200, 30))
    p = 1 / (1 + np.exp(-1.5 * (X[:, 0] + X[:, 1] - X[:, 2] * X[:, 3])))
    out.append(table("cls-noisy", X, (rng.uniform(size=1200) < p).astype(int), 2))
    X = rng.uniform(-1, 1, size=(4000, 10))
    y = np.digitize(X[:, 0] * 2 + X[:, 1] ** 2 * 2 + np.sin(4 * X[:, 2]) + 0.3 * rng.normal(size=4000), [-1, 0.3, 1.5])
    out.append(table("cls-four", X, y, 4))
    X = rng.normal(size=(3000, 15))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 1.6).astype(int) ^ (rng.uniform(size=3000) < 0.02)
    out.append(table("cls-rare", X, y.astype(int), 2))
    return out


def divide(t, rng):
    """A third for the test, of every class its share."""
    order = rng.permutation(len(t.y))
    if t.classes:
        order = order[np.argsort(t.y[order], kind="stable")]
    test = np.zeros(len(t.y), bool)
    for at in range(0, len(order), 3):
        group = order[at:at + 3]
        test[group[rng.integers(len(group))]] = True
    return np.flatnonzero(~test), np.flatnonzero(test)


def error(t, y, predicted):
    if t.classes:
        return 100 * np.mean(predicted != y)
    return 100 * math.sqrt(np.mean((predicted - y) ** 2)) / np.std(t.y)


def xgb(t, train, test):
    X = t.X
    if t.categorical.any():
        e = OneHotEncoder(handle_unknown="ignore", sparse=False)
        X = np.hstack([X[:, ~t.categorical], e.fit(X[train][:, t.categorical]).transform(X[:, t.categorical])])
    m = (xgboost.XGBClassifier if t.classes else xgboost.XGBRegressor)(n_jobs=1, verbosity=0)
    return m.fit(X[train], t.y[train]).predict(X[test])


def hgb(t, train, test):
    m = (HistGradientBoostingClassifier if t.classes else HistGradientBoostingRegressor)(categorical_features=t.categorical, random_state=0)
    return m.fit(t.X[train], t.y[train]).predict(t.X[test])


def write(path, t, rows):
    with open(path, "w") as f:
        w = csv.writer(f)
        w.writerow(["x%d" % j for j in range(t.X.shape[1])] + ["target"])
        for i in rows:
            cells = ["" if v != v else "level%d" % v if c else repr(float(v)) for v, c in zip(t.X[i], t.categorical)]
            w.writerow(cells + ["class%d" % t.y[i] if t.classes else repr(float(t.y[i]))])


def ours(learn, group, flags, folder, t, test):
    model, out = os.path.join(folder, "model"), os.path.join(folder, "out.csv")
    task = "classification" if t.classes else "regression"
    r = subprocess.run([learn, group, "train", os.path.join(folder, "train.csv"), "--target=target", "--task=" + task, "--workers=1", "--json", "--model=" + model] + flags,
                       check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    subprocess.run([learn, group, "predict", os.path.join(folder, "test.csv"), "--model=" + model, "--predictions=" + out], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows = list(csv.DictReader(open(out)))
    assert len(rows) == len(test)
    if t.classes:
        return np.array([int(r["class"].removeprefix("class")) for r in rows])
    return np.array([float(r["prediction"]) for r in rows])


def corrected(a, b, share):
    """Mean difference, and its p by the corrected resampled t-test; share is test rows / training rows."""
    d = np.array(a) - np.array(b)
    v = np.var(d, ddof=1)
    if v == 0:
        return d.mean(), 1.0
    return d.mean(), 2 * stats.t.sf(abs(d.mean() / math.sqrt(v * (1 / len(d) + share))), len(d) - 1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("learn")
    p.add_argument("data")
    p.add_argument("--only", default="")
    p.add_argument("--trials", type=int, default=10)
    p.add_argument("--seed", type=int, default=2026)
    p.add_argument("--rows", type=int, default=9000)
    p.add_argument("--rgb", action="append", default=[], help="flags of a variant of rgb; may be repeated")
    p.add_argument("--gb", action="append", default=[])
    a = p.parse_args()
    fresh = {t.name: t for t in synthetic(a.seed)}
    names = [n for n in a.only.split(",") if n] or list(TABLES) + list(fresh)
    variants = [("rgb", f) for f in a.rgb or [""]] + [("gb", f) for f in a.gb or [""]]
    who = [(g + " " + f).strip() for g, f in variants] + ["xgboost", "hist"]
    print("table", "rows", *who, *["%s - %s (p)" % (w, q) for w in who[:-2] for q in ("xgb", "hist")], sep="\t")
    ratios = {}
    for name in names:
        t = fresh[name] if name in fresh else read(a.data, name)
        rng = np.random.default_rng([a.seed, sum(map(ord, name))])
        if len(t.y) > a.rows:
            some = rng.permutation(len(t.y))[:a.rows]
            t = Table(t.name, t.X[some], t.categorical, t.y[some], t.classes)
        errors = [[] for _ in who]
        for _ in range(a.trials):
            train, test = divide(t, rng)
            with tempfile.TemporaryDirectory() as folder:
                write(os.path.join(folder, "train.csv"), t, train)
                write(os.path.join(folder, "test.csv"), t, test)
                for k, (g, f) in enumerate(variants):
                    errors[k].append(error(t, t.y[test], ours(a.learn, g, f.split(), folder, t, test)))
            errors[-2].append(error(t, t.y[test], xgb(t, train, test)))
            errors[-1].append(error(t, t.y[test], hgb(t, train, test)))
        cells = []
        for k in range(len(variants)):
            for q in (-2, -1):
                m, pv = corrected(errors[k], errors[q], 0.5) if a.trials > 1 else (errors[k][0] - errors[q][0], float("nan"))
                cells.append("%+.2f (%.3f)" % (m, pv))
                r = ratios.setdefault((who[k], who[q]), [])
                r.append((np.mean(errors[k]) / max(np.mean(errors[q]), 1e-9), m, pv))
        print(name, len(t.y), *("%.2f" % np.mean(e) for e in errors), *cells, sep="\t", flush=True)
    for (w, q), r in ratios.items():
        print("%s / %s: geometric mean ratio of errors %.3f; better on %d, worse on %d; at p < .05 better on %d, worse on %d" % (
            w, q, math.exp(np.mean([math.log(max(x[0], 1e-9)) for x in r])), sum(x[1] < 0 for x in r), sum(x[1] > 0 for x in r),
            sum(x[1] < 0 and x[2] < 0.05 for x in r), sum(x[1] > 0 and x[2] < 0.05 for x in r)))


main()
