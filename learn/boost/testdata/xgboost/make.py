"""Makes the recorded models of this folder with XGBoost (1.7.4 made those here), and is the peer of the tests.

usage: make.py train FOLDER     models, their rows and what XGBoost predicts for them
       make.py predict FOLDER ...   predictions of FOLDER/model.json for the rows of FOLDER/rows.csv
"""
import os, sys
os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
import xgboost as xgb


def rows_file(path, X):
    with open(path, "w") as f:
        for r in X:
            f.write(",".join("" if np.isnan(v) else repr(float(v)) for v in r) + "\n")


def scores_file(path, P):
    with open(path, "w") as f:
        for r in np.asarray(P).reshape(len(P), -1):
            f.write(",".join(repr(float(v)) for v in r) + "\n")


def train(folder):
    rng = np.random.default_rng(4)
    X = np.round(rng.normal(size=(120, 4)) * 16) / 16
    X[rng.random(X.shape) < 0.08] = np.nan
    C = X.copy()
    C[:, 3] = rng.integers(0, 70, len(C))
    C[rng.random(len(C)) < 0.1, 3] = np.nan
    z = np.nan_to_num(X)
    two = z[:, 0] + z[:, 1] * z[:, 2] > 0
    common = {"nthread": 1, "seed": 0, "verbosity": 0}
    q, c = ["q"] * 4, ["q"] * 3 + ["c"]
    for name, data, types, y, p, rounds in [
        ("binary", X, q, two, {"objective": "binary:logistic", "tree_method": "hist", "max_depth": 3, "base_score": 0.3}, 8),
        ("exact", X, q, two, {"objective": "binary:logistic", "tree_method": "exact", "max_depth": 4, "gamma": 1.5}, 6),
        ("regression", X, q, z[:, 0] - 2 * z[:, 1], {"objective": "reg:squarederror", "tree_method": "hist", "max_depth": 3}, 6),
        ("leaves", C, c, z[:, 0] - (C[:, 3] % 3), {"objective": "reg:squarederror", "tree_method": "hist", "max_depth": 0, "max_leaves": 9, "grow_policy": "lossguide"}, 6),
        ("classes", C, c, np.nan_to_num(C[:, 3]) % 3, {"objective": "multi:softprob", "num_class": 3, "tree_method": "hist", "max_depth": 3, "max_cat_to_onehot": 3}, 3),
    ]:
        y = np.nan_to_num(np.asarray(y, float))
        b = xgb.train({**common, **p}, xgb.DMatrix(data, y, feature_types=types, enable_categorical=True), rounds)
        b.save_model(f"{folder}/{name}.json")
        rows_file(f"{folder}/{name}.rows.csv", data)
        scores_file(f"{folder}/{name}.scores.csv", b.predict(xgb.DMatrix(data, feature_types=types, enable_categorical=True), output_margin=True))
    train_sparse(folder)


def train_sparse(folder):
    """A model of a LIBSVM file: what a line leaves out is missing to XGBoost, and so is its column 0."""
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(80, 4)) * 16) / 16
    absent = rng.random(X.shape) < 0.5
    y = np.where(absent, 0, X)[:, 0] - 2 * absent[:, 1] + np.where(absent, 0, X)[:, 2] > -0.5
    path = f"{folder}/sparse.rows.svm"
    with open(path, "w") as f:
        for r, a, c in zip(X, absent, y):
            f.write(f"{int(c)}" + "".join(f" {j + 1}:{v:g}" for j, v in enumerate(r) if not a[j]) + "\n")
    d = xgb.DMatrix(path + "?format=libsvm")
    b = xgb.train({"objective": "binary:logistic", "max_depth": 3, "nthread": 1, "verbosity": 0}, d, 6)
    b.save_model(f"{folder}/sparse.json")
    scores_file(f"{folder}/sparse.scores.csv", b.predict(d, output_margin=True))


def predict(folder):
    X = np.genfromtxt(f"{folder}/rows.csv", delimiter=",", ndmin=2)
    b = xgb.Booster(model_file=f"{folder}/model.json")
    d = xgb.DMatrix(X, feature_names=b.feature_names, feature_types=b.feature_types, enable_categorical=True, nthread=1)
    scores_file(f"{folder}/scores.csv", b.predict(d, output_margin=True))


for folder in sys.argv[2:]:
    {"train": train, "predict": predict}[sys.argv[1]](folder)
