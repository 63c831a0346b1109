#!/bin/sh
# Both drivers in turn on each workload, one process a workload, and the
# comparison: run_both.sh CORPUS_DIR OPENFST_DRIVER FST OUT_DIR
# ONLY=regex picks workloads; LIMIT=seconds bounds each (default 300);
# REPS=n overrides the repetitions. Where the peer takes less than 20 ms the two go on in turn,
# ROUNDS=n of each in all (default 9): one process may have bad luck with its pages by more
# than the difference. Of several lines for a workload the one with the median time counts.
set -u
here=$(cd "$(dirname "$0")" && pwd)
corpus=$1 driver=$2 fst=$3 out=$4
: >"$out/peer.jsonl"
: >"$out/ours.jsonl"
last=
grep -v '^#' "$here/workloads.tsv" | cut -f1 | grep -E "${ONLY:-.}" | while read -r id; do
  rounds=1
  while [ "$rounds" -gt 0 ]; do
    timeout "${LIMIT:-300}" "$driver" "$corpus" "$here/workloads.tsv" "$id" ${REPS:-} >"$out/line.json" </dev/null ||
      printf '{"impl":"openfst","id":"%s","failed":%d}\n' "$id" $? >"$out/line.json"
    cat "$out/line.json" >>"$out/peer.jsonl"
    timeout "${LIMIT:-300}" "$fst" bench "$corpus" "$here/workloads.tsv" "$id" ${REPS:-} >>"$out/ours.jsonl" </dev/null ||
      printf '{"impl":"tropica","id":"%s","failed":%d}\n' "$id" $? >>"$out/ours.jsonl"
    if [ "$rounds" = 1 ] && [ "$id" != "$last" ] && grep -q '"cpu_min": *\(0\.0[01]\|[0-9.]*e-\)' "$out/line.json"; then
      rounds=${ROUNDS:-9}
    fi
    last=$id
    rounds=$((rounds - 1))
  done
done
rm -f "$out/line.json"
"$fst" bench --compare --newer="$here/newer.tsv" "$out/ours.jsonl" "$out/peer.jsonl"
