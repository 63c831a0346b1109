#!/bin/sh
# One worker and two in turn, on what two can share: run_workers.sh CORPUS_DIR FST OUT_DIR
# writes OUT_DIR/one.jsonl and OUT_DIR/two.jsonl, all rounds of them; the least counts.
# ROUNDS=n (default 3). Two processors must be idle.
set -u
here=$(cd "$(dirname "$0")" && pwd)
corpus=$1 fst=$2 out=$3
: >"$out/one.jsonl"
: >"$out/two.jsonl"
for id in compose_LG compose_R_1e6 rmeps_1e6 arcsort_L connect_1e6 lat_det_tropical lat_det_log64 lat_sd_log lat_rmeps_det_min lat_sp100u lat_intersect_G spell_E2 g2p; do
  for _ in $(seq "${ROUNDS:-3}"); do
    "$fst" bench --workers=1 "$corpus" "$here/workloads.tsv" "$id" >>"$out/one.jsonl"
    "$fst" bench --workers=2 "$corpus" "$here/workloads.tsv" "$id" >>"$out/two.jsonl"
  done
done
