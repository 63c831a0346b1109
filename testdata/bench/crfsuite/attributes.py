#!/usr/bin/env python3
"""Writes what templates make of CoNLL columns in CRFsuite's format.

usage: attributes.py chunking|tagging [bias] < columns > attributes

The templates are the presets of `learn sequence train --templates`. With bias every position has the
attribute BIAS: learn's models have a weight for each label anyway, CRFsuite's do not.
"""
import sys

CHUNKING = ("-2,0 -1,0 0,0 1,0 2,0 -1,0|0,0 0,0|1,0 -2,1 -1,1 0,1 1,1 2,1 -2,1|-1,1 -1,1|0,1 0,1|1,1 "
            "1,1|2,1 -2,1|-1,1|0,1 -1,1|0,1|1,1 0,1|1,1|2,1").split()


def shape(word):
    out = ""
    for c in word:
        k = c if c in "-." else "X" if c.isupper() else "x" if c.isalpha() else "9" if c.isdigit() else "o"
        if not (out and k == out[-1] and k in "xX9"):
            out += k
    return out[:8]


def chunking(rows, t):
    for k, template in enumerate(CHUNKING):
        values = []
        for macro in template.split("|"):
            row, column = map(int, macro.split(","))
            i = t + row
            values.append("<s>" if i < 0 else "</s>" if i >= len(rows) else rows[i][column])
        yield "U%d|%s" % (k, "|".join(values))


def tagging(rows, t):
    def at(i, f):
        return "<s>" if t + i < 0 else "</s>" if t + i >= len(rows) else f(rows[t + i][0])
    low = str.lower
    word = rows[t][0].lower()
    values = [rows[t][0]] + [at(i, low) for i in range(-2, 3)]
    values += [at(-1, low) + "|" + word, word + "|" + at(1, low)]
    values += [word[:n] for n in (1, 2, 3)] + [word[-n:] for n in (1, 2, 3, 4)] + [shape(rows[t][0])]
    last = lambda w: w.lower()[-4:]
    values += [at(-1, last), at(1, last), at(-1, shape) + "|" + shape(rows[t][0])]
    for k, value in enumerate(values):
        yield "U%d|%s" % (k, value)


def main():
    features = {"chunking": chunking, "tagging": tagging}[sys.argv[1]]
    bias = sys.argv[2:] == ["bias"]
    escape = lambda s: s.replace("\\", "\\\\").replace(":", "\\:")

    def flush(rows):
        for t, row in enumerate(rows):
            names = list(features(rows, t)) + (["BIAS"] if bias else [])
            print(escape(row[-1]), *map(escape, names), sep="\t")
        print()

    rows = []
    for line in sys.stdin:
        fields = line.split()
        if fields:
            rows.append(fields)
        elif rows:
            flush(rows)
            rows = []
    if rows:
        flush(rows)


main()
