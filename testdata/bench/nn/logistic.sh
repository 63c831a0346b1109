#!/usr/bin/env bash
# Logistic regression on MNIST: scikit-learn's SGDClassifier for a number of passes, then
# package nn until it first reaches the same objective. Of both, the times are those at
# which the lowest objective of SGDClassifier was first seen to be reached; it is looked
# at many times a pass while the clock stands still. Needs Debian's python3-sklearn.
# usage: logistic.sh FOLDER_OF_MNIST [PASSES]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=$(cd "${1:?folder of train-images-idx3-ubyte.gz}" && pwd)
passes=${2:-20}
python=
for p in python3 /usr/bin/python3; do
	if "$p" -c 'import sklearn' 2>/dev/null; then python=$p; break; fi
done
target=0.0672
if [ -n "$python" ]; then
	# The lowest objective met, and when: what comes after is not held against it.
	read -r seconds processors target < <("$python" "$here/sklearn_logistic.py" --data "$data" --passes "$passes" | sort -g -k 3 | head -1)
	echo "SGDClassifier: $passes passes, lowest objective $target after $seconds s, processors $processors s"
else
	echo "SGDClassifier: skipped, no python3 here imports sklearn (Debian: python3-sklearn); its objective after 20 passes is $target"
fi
cd "$here"
go run ./logistic -data "$data" -target "$target" -rate 0.1 -momentum 0.9 -batch 64 -decay 0.001
