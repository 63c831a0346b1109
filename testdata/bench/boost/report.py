"""Ratios of our times to XGBoost's from the lines of run.sh: the least of each over the runs, wall clock and processor time."""
import sys
best = {}
for line in open(sys.argv[1]):
    f = line.rstrip("\n").split("\t")
    key, who = (f[0], f[1], f[2]), f[3]
    v = {"bins": f[5], "bins-cpu": f[6], "train": f[8], "train-cpu": f[9], "predict": f[11], "predict-cpu": f[12], "peak-mb": f[14]}
    d = best.setdefault(key, {}).setdefault(who, {})
    for k, x in v.items():
        d[k] = min(d.get(k, 9e9), float(x))
print("\nours / XGBoost (at most 1 is as fast, or as small); rgb: RGB / our gradient boosting")
print("rows\ttrees\tthreads\tbins\tcpu\ttrain\tcpu\tpredict\tcpu\tpeak\trgb train\tcpu")
for key, d in sorted(best.items()):
    if "gb" not in d or "xgboost" not in d:
        continue
    a, b = d["gb"], d["xgboost"]
    r = ["%.2f" % (a[k] / b[k] if b[k] > 0 else float("nan")) for k in ("bins", "bins-cpu", "train", "train-cpu", "predict", "predict-cpu", "peak-mb")]
    if "rgb" in d:
        r += ["%.2f" % (d["rgb"][k] / a[k]) for k in ("train", "train-cpu")]
    print(*key, *r, sep="\t")
