#!/usr/bin/env python3
"""README's table from one run of both drivers: readme.py OUT_DIR [README.md]

OUT_DIR is what run_both.sh has written (ours.jsonl, peer.jsonl), and run_workers.sh
(one.jsonl, two.jsonl) if there are two workers to compare. The text between the
markers of README.md is replaced; without README.md it is printed."""
import json, math, os, platform, subprocess, sys

here = os.path.dirname(os.path.abspath(__file__))
BEGIN, END = '<!-- table of testdata/bench/readme.py -->', '<!-- end of table -->'


def lines(name, key, median):
    """Of several lines for a workload the one with the median time (the lower of two), or the least."""
    rows = {}
    if os.path.exists(name):
        for l in open(name):
            if l.strip():
                r = json.loads(l)
                rows.setdefault(r['id'], []).append(r)
    for i, all in rows.items():
        all.sort(key=lambda r: (0, r[key]) if key in r else (1, 0))
        rows[i] = all[-1] if 'failed' in all[-1] else all[(len(all) - 1) // 2 if median else 0]
    return rows


def machine():
    cpu = platform.processor()
    try:
        for l in open('/proc/cpuinfo'):
            if l.startswith('model name'):
                cpu = l.split(':', 1)[1].strip()
                break
    except OSError:
        pass
    go = subprocess.run(['go', 'env', 'GOVERSION'], capture_output=True, text=True).stdout.strip()
    return '%s, %d processors, %s, %s' % (cpu, os.cpu_count(), platform.system(), go)


def mean(xs):
    return math.exp(sum(map(math.log, xs)) / len(xs)) if xs else float('nan')


def ms(s):
    return '%.3g' % (s * 1000)


out = sys.argv[1]
ours, peer = (lines(os.path.join(out, n + '.jsonl'), 'cpu_min', True) for n in ('ours', 'peer'))
one, two = (lines(os.path.join(out, n + '.jsonl'), 'wall_min', False) for n in ('one', 'two'))
newer = {}
for l in open(os.path.join(here, 'newer.tsv')):
    if l.strip() and not l.startswith('#'):
        i, x = l.rstrip('\n').split('\t')
        newer[i] = max(1, float(x))
work = [l.rstrip('\n').split('\t') for l in open(os.path.join(here, 'workloads.tsv')) if l.strip() and not l.startswith('#')]

text = ['Machine: %s. Times are processor time in ms, the least of the repetitions (the median of some processes in turn where OpenFst takes less than 20 ms); ratios are OpenFst\'s to ours in time, and ours' % machine(),
        'to OpenFst\'s in peak memory. "Newest" divides by how much faster 1.8.4 was recorded to be than 1.7.9, where it was (`newer.tsv`).', '',
        '| workload | 1.7.9, ms | ours, ms | 1.7.9 / ours | newest / ours | 1.7.9, MB | ours, MB | ours / 1.7.9 |', '|---|---|---|---|---|---|---|---|']
old, new, mem, missing = [], [], [], []
for w in work:
    a, b = peer.get(w[0]), ours.get(w[0])
    if not a or not b or 'failed' in a or 'failed' in b:
        missing.append(w[0])
        continue
    r = a['cpu_min'] / b['cpu_min']
    n = r / newer.get(w[0], 1)
    m = b['rss_peak_kb'] / a['rss_peak_kb']
    old.append(r)
    new.append(n)
    large = a['rss_peak_kb'] > 32 << 10
    if large:
        mem.append(m)
    text.append('| %s | %s | %s | %.2f | %.2f | %.0f | %.0f | %s |' % (
        w[0], ms(a['cpu_min']), ms(b['cpu_min']), r, n, a['rss_peak_kb'] / 1024, b['rss_peak_kb'] / 1024, '%.2f' % m if large else ''))
text += ['', 'Geometric means over %d workloads: %.2f against 1.7.9, %.2f against the newest; memory %.2f over the %d where OpenFst needs more than 32 MB.' % (
    len(old), mean(old), mean(new), mean(mem), len(mem))]
if missing:
    text += ['Not compared: %s.' % ', '.join(missing)]

groups = {}
for w in work:
    if len(w) > 6 and w[6]:
        groups.setdefault(w[6], []).append(w[0])
text += ['', 'Growth from the smallest to the largest of a scale group, by how many times the time grows:', '', '| group | sizes | 1.7.9 | ours |', '|---|---|---|---|']
for g, ids in groups.items():
    lo, hi = ids[0], ids[-1]
    if all(i in ours and i in peer for i in (lo, hi)):
        text.append('| %s | %s to %s | %.0f | %.0f |' % (
            g, lo.rsplit('_', 1)[1], hi.rsplit('_', 1)[1], peer[hi]['cpu_min'] / peer[lo]['cpu_min'], ours[hi]['cpu_min'] / ours[lo]['cpu_min']))
if two:
    text += ['', 'Two workers on two processors, by the clock, in ms, the best of some rounds (`run_workers.sh`):', '', '| workload | one | two | ratio |', '|---|---|---|---|']
    for w in work:
        if w[0] in two and w[0] in one:
            a, b = one[w[0]]['wall_min'], two[w[0]]['wall_min']
            text.append('| %s | %s | %s | %.2f |' % (w[0], ms(a), ms(b), a / b))
text = '\n'.join(text)
if len(sys.argv) < 3:
    print(text)
    sys.exit()
readme = open(sys.argv[2]).read()
if BEGIN not in readme or END not in readme:
    sys.exit('readme.py: %s has no lines %s and %s for the table to stand between' % (sys.argv[2], BEGIN, END))
before, rest = readme.split(BEGIN, 1)
after = rest.split(END, 1)[1]
with open(sys.argv[2] + '.new', 'w') as f:
    f.write(before + BEGIN + '\n\n' + text + '\n\n' + END + after)
os.replace(sys.argv[2] + '.new', sys.argv[2])
