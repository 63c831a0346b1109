#!/usr/bin/env python3
"""XGBoost on the trials of table 3.1: trials.py DATA PEERS.json SEED [NAME ...]

DATA is the folder that `learn experiment table31 --data DATA` reads. SEED is that of --fresh, or - for the usual trials. NAMEs
are sonar, cancer, diabetes, ocr17, ocr49, mnist17, mnist49, higgs; all when none is given. PEERS.json keeps each set as it
is done, in the form of cmd/learn/internal/experiment/testdata/table31.json (rows got wrong by trial, and a fingerprint of each division);
the same command goes on from it, and

    learn experiment table31 --data DATA --fresh SEED --peers PEERS.json

has paired tests against it. Lambda, depth and rate are chosen by least error on inner folds, from the grids below, T = 100.
"python3 trials.py DATA - check [NAME ...]" compares the divisions that are made here with those on record instead.
Needs Debian's python3-xgboost and python3-numpy; one thread."""
import csv, gzip, io, json, os, random, sys
os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np

NAMES = ["sonar", "cancer", "diabetes", "ocr17", "ocr49", "mnist17", "mnist49", "higgs"]
SMALL = dict(method="exact", lam=[0.1, 1, 4], depth=[1, 2, 4, 7], eta=[0.01, 0.1, 0.5, 1], folds=5)
MEDIUM = dict(method="hist", lam=[0.1, 1, 4], depth=[2, 4, 7], eta=[0.1, 0.5], folds=2)
LARGE = dict(method="hist", lam=[1], depth=[3, 5, 7], eta=[0.1, 0.5], folds=1)
GRID = dict(sonar=SMALL, cancer=SMALL, diabetes=SMALL, ocr17=MEDIUM, ocr49=MEDIUM, higgs=MEDIUM, mnist17=LARGE, mnist49=LARGE)


def read(folder, name):
    """The file, compressed or not, as bytes."""
    for end in ("", ".gz"):
        path = os.path.join(folder, name.removesuffix(".gz") + end)
        if os.path.exists(path):
            with (gzip.open(path) if end else open(path, "rb")) as f:
                return f.read()
    sys.exit(f"{folder} has no {name}")


def rows(folder, name):
    return list(csv.reader(io.StringIO(read(folder, name).decode())))[1:]


def idx(folder, name):
    b = read(folder, name)
    n = b[3]
    return np.frombuffer(b, np.uint8, offset=4 + 4 * n).reshape([int.from_bytes(b[4 + 4 * i:8 + 4 * i], "big") for i in range(n)])


def box(image):
    """The box of what is not zero, in the middle of 20 by 20."""
    r, c = np.flatnonzero(image.any(1)), np.flatnonzero(image.any(0))
    cut = image[r[0]:r[-1] + 1, c[0]:c[-1] + 1]
    h, w = cut.shape
    out = np.zeros((20, 20), np.uint8)
    out[(20 - h) // 2:(20 - h) // 2 + h, (20 - w) // 2:(20 - w) // 2 + w] = cut
    return out.ravel()


def load(folder, name):
    """Features (NaN is missing) and labels -1 or +1, in the order of the files."""
    if name in ("sonar", "cancer", "diabetes"):
        file, positive = {"sonar": ("sonar", "M"), "cancer": ("breast-cancer-wisconsin", "4"), "diabetes": ("pima-diabetes", "1")}[name]
        table = rows(folder, f"uci/{file}.csv")
        return np.array([[np.nan if v == "?" else float(v) for v in r[:-1]] for r in table], np.float32), np.array([1 if r[-1] == positive else -1 for r in table])
    if name in ("ocr17", "ocr49"):
        table = np.array(rows(folder, f"mnist/{name}-14x14.csv.gz"), float)
        return table[:, 1:-1].astype(np.float32), np.where(table[:, -1] == int(name[3]), 1, -1)
    if name == "higgs":
        table = np.array(rows(folder, "higgs/higgs-small.csv.gz"), float)
        return table[:, :-1].astype(np.float32), np.where(table[:, -1] == 1, 1, -1)
    X = np.concatenate([idx(folder, f"mnist/{part}-images-idx3-ubyte.gz") for part in ("train", "t10k")])
    y = np.concatenate([idx(folder, f"mnist/{part}-labels-idx1-ubyte.gz") for part in ("train", "t10k")])
    some = np.flatnonzero((y == int(name[5])) | (y == int(name[6])))
    return np.stack([box(X[i]) for i in some]).astype(np.float32), np.where(y[some] == int(name[5]), 1, -1)


def deal(seed, items, label, k):
    """Fold of each item: shuffled, brought into the order of labels, numbered in turn."""
    order = list(items)
    random.Random(seed).shuffle(order)
    order.sort(key=lambda i: label[i])
    return {i: n % k for n, i in enumerate(order)}


def trials(name, y):
    """Five folds, twice: training rows, test rows, inner fold of each training row. table.MakeTrials is the same rule."""
    label = [int(v > 0) for v in y]
    for repetition in range(2):
        outer = deal(f"{name}/outer/{repetition}", range(len(y)), label, 5)
        for fold in range(5):
            train, test = [i for i in range(len(y)) if outer[i] != fold], [i for i in range(len(y)) if outer[i] == fold]
            inner = deal(f"{name}/inner/{repetition}/{fold}", train, label, 5)
            yield np.array(train), np.array(test), np.array([inner[i] for i in train])


def division(train, test, inner, rows):
    """64 bits of FNV-1a over a character a row: - for a test row, else the inner fold."""
    text = ["."] * rows
    for i, f in zip(train, inner):
        text[i] = str(f)
    for i in test:
        text[i] = "-"
    h = 0xCBF29CE484222325
    for c in text:
        h = (h ^ ord(c)) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return "%016x" % h


def fit(xgb, d, g, lam, depth, eta):
    return xgb.train({"objective": "binary:logistic", "tree_method": g["method"], "lambda": lam, "max_depth": depth, "eta": eta, "nthread": 1, "seed": 0, "base_score": 0.5, "verbosity": 0}, d, 100)


def wrong(b, d, y):
    return int(np.sum(y * b.predict(d, output_margin=True) <= 0))


def run(folder, name, seed):
    import xgboost as xgb
    X, y = load(folder, name)
    g = GRID[name]
    grid = [(lam, depth, eta) for depth in g["depth"] for lam in g["lam"] for eta in g["eta"]]
    matrix = lambda part, labels=None: xgb.DMatrix(X[part], labels, nthread=1)
    out = {"name": name, "fresh": seed, "divisions": [], "tested": [], "peers": [{"name": "XGBoost tuned", "wrong": []}]}
    for train, test, inner in trials(name + "/" + seed if seed else name, y):
        score = np.zeros(len(grid))
        for f in range(g["folds"]):
            a, b = train[inner != f], train[inner == f]
            da, db = matrix(a, y[a] > 0), matrix(b)
            score += [wrong(fit(xgb, da, g, *s), db, y[b]) for s in grid]
        best = fit(xgb, matrix(train, y[train] > 0), g, *grid[int(np.argmin(score))])
        out["divisions"].append(division(train, test, inner, len(y)))
        out["tested"].append(len(test))
        out["peers"][0]["wrong"].append(wrong(best, matrix(test), y[test]))
    return out


def check(folder, names):
    here = os.path.dirname(os.path.abspath(__file__))
    record = json.load(open(os.path.join(here, "../../../cmd/learn/internal/experiment/testdata/table31.json")))["sets"]
    for s in record:
        if s["name"] in names:
            _, y = load(folder, s["name"])
            seed = s.get("fresh", "")
            made = [division(*t, len(y)) for t in trials(s["name"] + "/" + seed if seed else s["name"], y)]
            print(s["name"], seed or "-", "the divisions on record" if made == s["divisions"] else "OTHER DIVISIONS")


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    folder, file, seed, names = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:] or NAMES
    for n in names:
        if n not in NAMES:
            sys.exit(f"there is no set {n}; there are {', '.join(NAMES)}")
    if seed == "check":
        return check(folder, names)
    seed = "" if seed == "-" else seed
    kept = json.load(open(file)) if os.path.exists(file) else {"sets": []}
    for n in names:
        if any(s["name"] == n and s.get("fresh", "") == seed for s in kept["sets"]):
            continue
        done = run(folder, n, seed)
        kept["sets"].append(done)
        with open(file + ".new", "w") as f:
            json.dump(kept, f, indent=1)
        os.replace(file + ".new", file)
        print(n, "%.2f %%" % (100 * np.mean(np.array(done["peers"][0]["wrong"]) / np.array(done["tested"]))), flush=True)


if __name__ == "__main__":
    main()
