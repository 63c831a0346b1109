#!/bin/sh
# Whole processes: each tool of OpenFst and ours of the same name in turn, start, read and
# write included, and the table of medians: run_process.sh CORPUS_DIR FST
# N=repetitions (default 5), ONLY=regex picks workloads of run_openfst.sh, WORKERS=n is
# passed on to ours. A row is user and system time together, since a busy machine makes
# wall time say little; the ratio is the peer's over ours.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
corpus=$(cd "$1" && pwd)
fst=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=${N:-5}
# took NAME COMMAND...: adds "cpu wall kilobytes" of one run to $tmp/NAME
took() {
  name=$1
  shift
  env time -q -o "$tmp/t" -f '%U %S %e %M' "$@" >/dev/null 2>&1 || true
  tail -1 "$tmp/t" | awk '{ print $1 + $2, $3, $4 }' >>"$tmp/$name"
}
median() { cut -d' ' -f"$2" "$tmp/$1" | sort -n | sed -n "$((n / 2 + 1))p"; }
printf '| workload | OpenFst cpu s | ours cpu s | ratio | OpenFst wall s | ours wall s | OpenFst MB | ours MB |\n|---|---|---|---|---|---|---|---|\n'
cd "$corpus"
{
  printf 'trivial\tfstinfo E.fst\n'
  printf 'compose_E_R_b4\tfstcompose E.fst R_b4.is.fst @\n'
  "$here/run_openfst.sh" "$corpus"
} | grep -E "${ONLY:-.}" | while IFS="$(printf '\t')" read -r id cmd; do
  rm -f "$tmp/peer" "$tmp/ours"
  i=0
  while [ $i -lt "$n" ]; do
    took peer $(printf %s "$cmd" | sed "s#@\$#$tmp/out#") </dev/null
    took ours "$fst" $(printf %s "$cmd" | sed "s#^fst##; s#@\$#$tmp/out#") --workers="${WORKERS:-1}" </dev/null
    i=$((i + 1))
  done
  echo "$id $(median peer 1) $(median ours 1) $(median peer 2) $(median ours 2) $(median peer 3) $(median ours 3)" |
    awk '{ printf "| %s | %.2f | %.2f | %s | %.2f | %.2f | %d | %d |\n", $1, $2, $3, ($3 > 0 ? sprintf("%.2f", $2 / $3) : "-"), $4, $5, $6 / 1024, $7 / 1024 }'
done
