#!/bin/sh
# Both drivers in turn on each workload, one process a workload, and the
# comparison: run_both.sh CORPUS_DIR OPENFST_DRIVER FST OUT_DIR
# ONLY=regex picks workloads; LIMIT=seconds bounds each (default 300);
# REPS=n overrides the repetitions.
set -u
here=$(cd "$(dirname "$0")" && pwd)
corpus=$1 driver=$2 fst=$3 out=$4
: >"$out/peer.jsonl"
: >"$out/ours.jsonl"
grep -v '^#' "$here/workloads.tsv" | cut -f1 | grep -E "${ONLY:-.}" | while read -r id; do
  timeout "${LIMIT:-300}" "$driver" "$corpus" "$here/workloads.tsv" "$id" ${REPS:-} >>"$out/peer.jsonl" </dev/null ||
    printf '{"impl":"openfst","id":"%s","failed":%d}\n' "$id" $? >>"$out/peer.jsonl"
  timeout "${LIMIT:-300}" "$fst" bench "$corpus" "$here/workloads.tsv" "$id" ${REPS:-} >>"$out/ours.jsonl" </dev/null ||
    printf '{"impl":"tropica","id":"%s","failed":%d}\n' "$id" $? >>"$out/ours.jsonl"
done
"$fst" bench --compare --newer="$here/newer.tsv" "$out/ours.jsonl" "$out/peer.jsonl"
