#!/usr/bin/env bash
# Times our boosting and XGBoost on the same rows, in turn, so that a slow spell of the machine falls on both:
#   run.sh FOLDER [RUNS [THREADS ...]]      FOLDER has NAME.f32 and NAME.u8 (data.py makes some)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$1 runs=${2:-3}
shift; shift || true
threads=("${@:-}")
[ -n "${threads[0]}" ] || threads=(1 2)
python=
for p in python3 /usr/bin/python3; do
	if "$p" -c 'import xgboost' 2>/dev/null; then python=$p; break; fi
done
[ -n "$python" ] || { echo "SKIPPED: no XGBoost (Debian: python3-xgboost)"; exit 0; }
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
(cd "$here/../../.." && CGO_ENABLED=0 go build -o "$bin/boost" ./testdata/bench/boost)
for rows in "$folder"/*.f32; do
	name=$(basename "$rows" .f32)
	for t in "${threads[@]}"; do
		for _ in $(seq "$runs"); do
			for ours in gb rgb rgb-default; do
				"$bin/boost" "$name" "$rows" "$folder/$name.u8" "$t" depth6 "$ours"
			done
			"$python" "$here/peer.py" "$name" "$rows" "$folder/$name.u8" "$t" depth6
		done
	done
done | tee "$folder/runs.tsv"
"$python" "$here/report.py" "$folder/runs.tsv"
