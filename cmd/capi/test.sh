#!/usr/bin/env bash
# Builds the library and tests it: from C, also under an address sanitizer, and from Python where
# numpy, torch and pytest are. What is not there is said. With TROPICA_LONG set, what Go code reads and writes of
# C's memory is checked too: valgrind takes Go's stacks for mistakes.
set -euo pipefail
cd "$(dirname "$0")"
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
skip() { printf 'SKIPPED: %s\n' "$1"; }

if ! command -v "${CC:-gcc}" >/dev/null; then
	skip "no C compiler"
	exit 0
fi
./build.sh "$built"
"${CC:-gcc}" -std=gnu11 -Wall -Wextra -Wno-parentheses -O1 -g -I. -o "$built/test" test.c -L"$built" -ltropica -lm -lpthread
LD_LIBRARY_PATH=$built "$built/test"
if "${CC:-gcc}" -std=gnu11 -fsanitize=address,undefined -fno-sanitize-recover -Wno-parentheses -O1 -g -I. -o "$built/checked" \
	test.c -L"$built" -ltropica -lm -lpthread 2>/dev/null; then
	LD_LIBRARY_PATH=$built "$built/checked"
else
	skip "address sanitizer, which this compiler has not"
fi
if [ -z "${TROPICA_LONG:-}" ]; then
	skip "the address sanitizer in the library, which takes a minute to build: set TROPICA_LONG"
elif [ -x "$built/checked" ] && mkdir "$built/asan" && CGO_ENABLED=1 go build -trimpath -asan -buildmode=c-shared -o "$built/asan/libtropica.so" . 2>"$built/asan/why"; then
	LD_LIBRARY_PATH=$built/asan "$built/checked"
else
	skip "the address sanitizer in the library, which this platform has not"
fi
python=${PYTHON:-/usr/bin/python3}
if ! "$python" -c 'import numpy, pytest' 2>/dev/null; then
	skip "no numpy or pytest (Debian: python3-numpy, python3-pytest)"
	exit 0
fi
"$python" -c 'import torch' 2>/dev/null || skip "no torch (Debian: python3-torch): tests of tropica.torch"
TROPICA_LIBRARY=$built/libtropica.so TROPICA_FST=$built/fst PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest -q -p no:cacheprovider python/tests
