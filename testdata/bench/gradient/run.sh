#!/bin/sh
# The general path beside the published construction on OpenFst, whole processes:
#
#     run.sh OPENFST_GRAD FST [N]
#
# prints processor seconds and peak megabytes of each in turn, medians of N runs (default 3), and
# the ratio ours / OpenFst's of both. The cases are those of cases.jsonl, reference 1.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
grad=$1 fst=$2 n=${3:-3}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
took() { # NAME COMMAND...: adds "seconds kilobytes" of one run
  name=$1
  shift
  env time -q -o "$tmp/t" -f '%U %S %M' "$@" >/dev/null
  awk '{ print $1 + $2, $3 }' "$tmp/t" >>"$tmp/$name"
}
median() { cut -d' ' -f"$2" "$tmp/$1" | sort -n | sed -n "$((n / 2 + 1))p"; }
printf '| loss, length | OpenFst s | general path s | ratio | OpenFst MB | general path MB | ratio |\n|---|---|---|---|---|---|---|\n'
for case in ${ONLY:-edit-10 edit-12 sw-10 bigram-10 bigram-12 bigram1-10 bigram1-12}; do
  loss=${case%-*} l=${case#*-}
  grep "\"name\": \"$loss-l$l-s1\"" "$here/cases.jsonl" >"$tmp/case"
  rm -f "$tmp/peer" "$tmp/ours"
  i=0
  while [ $i -lt "$n" ]; do
    took peer "$grad" time "$l" "$loss" 1
    took ours "$fst" loss --path=general --only=log_z,q "$tmp/case"
    i=$((i + 1))
  done
  echo "$loss,$l $(median peer 1) $(median ours 1) $(median peer 2) $(median ours 2)" |
    awk '{ printf "| %s | %.2f | %.2f | %.2f | %d | %d | %.2f |\n", $1, $2, $3, $3 / $2, $4 / 1024, $5 / 1024, $5 / $4 }'
done
