"""Ratios of our times to XGBoost's from the lines of run.sh: the least of each over the runs, wall clock and processor time."""
import sys

MEASURES = {"bins": 5, "bins-cpu": 6, "train": 8, "train-cpu": 9, "predict": 11, "predict-cpu": 12, "peak-mb": 14}
best = {}
for line in open(sys.argv[1]):
    f = line.rstrip("\n").split("\t")
    d = best.setdefault((f[0], f[1], f[2]), {}).setdefault(f[3], {})
    for k, at in MEASURES.items():
        d[k] = min(d.get(k, 9e9), float(f[at]))


def ratio(a, b):
    return "%.2f" % (a / b if b > 0 else float("nan"))


print("\nour gradient boosting / XGBoost (at most 1 is as fast, or as small)")
print("rows", "trees", "threads", *MEASURES, sep="\t")
for key, d in sorted(best.items()):
    if "gb" in d and "xgboost" in d:
        print(*key, *(ratio(d["gb"][k], d["xgboost"][k]) for k in MEASURES), sep="\t")
print("\nRGB with five candidates: training time / XGBoost's (asked: at most 1.5), then / our gradient boosting's")
print("rows", "threads", "setting", "xgb wall", "xgb cpu", "gb wall", "gb cpu", sep="\t")
for key, d in sorted(best.items()):
    for who in ("rgb", "rgb-default"):
        if who in d:
            r = [ratio(d[who][k], d[peer][k]) if peer in d else "-" for peer in ("xgboost", "gb") for k in ("train", "train-cpu")]
            print(key[0], key[2], who, *r, sep="\t")
print("\nprocessor time with two threads / with one")
for key, d in sorted(best.items()):
    one = best.get((key[0], key[1], "1"), {})
    if key[2] == "2":
        for who in d:
            if who in one:
                print(key[0], who, "train", ratio(d[who]["train-cpu"], one[who]["train-cpu"]), "predict", ratio(d[who]["predict-cpu"], one[who]["predict-cpu"]), sep="\t")
