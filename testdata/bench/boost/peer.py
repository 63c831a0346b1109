"""XGBoost's side: peer.py NAME ROWS.f32 LABELS.u8 THREADS depth6|leaves64. One line, as main.go prints."""
import os, resource, sys, time
name, rows, labels, threads, policy = sys.argv[1:6]
os.environ["OMP_NUM_THREADS"] = threads
import numpy as np
import xgboost as xgb

y = np.fromfile(labels, np.uint8)
X = np.fromfile(rows, np.float32).reshape(len(y), -1)
p = {"objective": "binary:logistic", "tree_method": "hist", "eta": 0.1, "lambda": 1, "nthread": int(threads), "base_score": 0.5, "max_bin": 255, "verbosity": 0}
p.update({"max_depth": 6} if policy == "depth6" else {"max_depth": 0, "max_leaves": 64, "grow_policy": "lossguide"})


def clock():
    return np.array([time.time(), time.process_time()])


# As ours: the run from rows in memory to a model. Binning happens in the first round.
t = clock()
d = xgb.DMatrix(X, y, nthread=int(threads))
b = xgb.train(p, d, 100)
train = clock() - t
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
t = clock()
xgb.train(p, xgb.DMatrix(X, y, nthread=int(threads)), 1)
first = clock() - t
bins = first - (train - first) / 99  # a first round less a later one
predict = np.array([9e9, 9e9])
for _ in range(3):
    t = clock()
    s = b.inplace_predict(X, predict_type="margin")
    predict = np.minimum(predict, clock() - t)
print(name, policy, threads, "xgboost", "bins", *("%.3f" % v for v in bins), "train", *("%.3f" % v for v in train), "predict", *("%.4f" % v for v in predict),
      "peak-mb", peak, "error", "%.5f" % np.mean((s > 0) != y), sep="\t")
