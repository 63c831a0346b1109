"""Solves the problems of solve.go by HiGHS, through scipy.optimize.milp, and compares values and times.

    go run ./testdata/bench/tracking -o problems.jsonl && python3 testdata/bench/tracking/milp.py problems.jsonl
"""
import json
import sys
import time

try:
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_matrix
except ImportError as e:
    print("skipped: scipy with milp (1.9 or later, Debian's python3-scipy) is needed:", e)
    sys.exit(0)

groups = {}
for line in open(sys.argv[1]):
    p = json.loads(line)
    rows = [v for s in p["sets"] for v in s]
    cols = [h for h, s in enumerate(p["sets"]) for _ in s]
    a = csr_matrix((np.ones(len(rows)), (rows, cols)), shape=(p["elements"], len(p["sets"])))
    start = time.perf_counter()
    r = milp(-np.array(p["scores"]), integrality=np.ones(len(p["sets"])), bounds=Bounds(0, 1),
             constraints=LinearConstraint(a, 1, 1), options={"mip_rel_gap": 0, "time_limit": 60})
    spent = time.perf_counter() - start
    groups.setdefault(p["preset"], []).append((p["seconds"], spent, p["value"] + r.fun if r.status == 0 else np.nan))
for name, g in groups.items():
    ours, theirs = np.array([x[0] for x in g]), np.array([x[1] for x in g])
    print(f"{name:20s} {len(g):4d} pairs, mean {1e3 * ours.mean():.3f} ms, HiGHS {1e3 * theirs.mean():.1f} ms "
          f"(median of ratios {np.median(theirs / ours):.0f}), largest difference of values {np.nanmax([abs(x[2]) for x in g]):.1e}, "
          f"{sum(np.isnan(x[2]) for x in g)} not solved by HiGHS within a minute")
