#!/usr/bin/env python3
"""Trains conditional random fields with CRFsuite's L-BFGS and with learn, on the same attributes and
penalty, in turns, and reports processor time and memory.

usage: compare.py TASK COLUMNS [--learn PROGRAM] [--crfsuite PROGRAM] [--pairs N] [--dense] [--memory N]

TASK is chunking or tagging: the templates. COLUMNS is a file of CoNLL columns with the label last.
CRFsuite (github.com/chokkan/crfsuite, with liblbfgs) is built by the user: without it the comparison
says so, and is skipped. It trains to its own default, an objective that falls by less than 1e-5 over
ten iterations. learn trains with --stop 1e-5 over five; its time is also given up to the first
iteration whose objective is within 1e-4 of CRFsuite's last, and CRFsuite's likewise.

CRFsuite's penalty is c2 |w|², learn's l2/2 |w|²: c2 is half of l2, here 1. CRFsuite has a bias
attribute in the place of learn's weight for each label, and all transitions. With --dense both have
weights for all labels of an attribute, else for those seen with it.
"""
import argparse, csv, os, re, shutil, statistics, subprocess, sys, tempfile


def run(command, log):
    """Returns seconds of processor time and peak memory in MB."""
    with open(log, "w") as out:
        p = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=dict(os.environ, GOMAXPROCS="1"))
        _, status, usage = os.wait4(p.pid, 0)
    if status != 0:
        sys.exit("%s failed:\n%s" % (" ".join(command), open(log).read()[-2000:]))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    a = argparse.ArgumentParser()
    a.add_argument("task", choices=["chunking", "tagging"])
    a.add_argument("columns")
    a.add_argument("--learn", default="learn")
    a.add_argument("--crfsuite", default="crfsuite")
    a.add_argument("--pairs", type=int, default=3)
    a.add_argument("--dense", action="store_true")
    a.add_argument("--memory", default="10")
    o = a.parse_args()
    for program in (o.crfsuite, o.learn):
        if not shutil.which(program):
            print("SKIPPED: there is no program %s" % program)
            return
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = os.path.join(folder, "bias.crfsuite"), os.path.join(folder, "plain.crfsuite")
        for name, bias in ((theirs, ["bias"]), (ours, [])):
            with open(o.columns) as text, open(name, "w") as out:
                subprocess.run([sys.executable, os.path.join(here, "attributes.py"), o.task] + bias, stdin=text, stdout=out,
                               check=True)
        dense = ["-p", "feature.possible_states=1"] if o.dense else []
        log, history = os.path.join(folder, "log"), os.path.join(folder, "history.csv")
        rows = []
        for k in range(o.pairs):
            time, memory = run([o.crfsuite, "learn", "-a", "lbfgs", "-p", "c2=0.5", "-p", "feature.possible_transitions=1"]
                               + dense + ["-m", os.path.join(folder, "a"), theirs], log)
            losses = [float(x) for x in re.findall(r"Loss: ([0-9.]+)", open(log).read())]
            near = next(i for i, x in enumerate(losses) if x <= losses[-1] * (1 + 1e-4)) + 1
            columns = o.columns if o.task == "chunking" else ours
            own, own_memory = run([o.learn, "sequence", "train", columns] +
                                  (["--templates", o.task] if columns == o.columns else []) +
                                  ([] if o.dense else ["--observed"]) +
                                  ["--l2", "1", "--stop", "1e-5", "--memory", o.memory, "--workers", "1",
                                   "--csv", history, "--model", os.path.join(folder, "b")], log)
            with open(history) as text:
                objective = [float(r["objective"]) for r in csv.DictReader(text)]
            reached = next((i for i, x in enumerate(objective) if x <= losses[-1] * (1 + 1e-4)), len(objective))
            rows.append((time, own, memory, own_memory, near / len(losses) * time, reached / len(objective) * own))
            print("pair %d: crfsuite %.1f s, %.0f MB, %d iterations, objective %.2f; learn %.1f s, %.0f MB, "
                  "%d iterations, objective %.2f; to within 1e-4: %d and %d iterations" %
                  (k + 1, time, memory, len(losses), losses[-1], own, own_memory, len(objective) - 1, objective[-1],
                   near, reached), flush=True)
        median = lambda f: statistics.median(map(f, rows))
        print("medians of learn to crfsuite: processor time %.3f, to within 1e-4 of the objective %.3f, memory %.2f" %
              (median(lambda r: r[1] / r[0]), median(lambda r: r[5] / r[4]), median(lambda r: r[3] / r[2])))


main()
