#!/usr/bin/env bash
# Builds the shared library and the worker program into a folder: build.sh DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
to=$(mkdir -p "$1" && cd "$1" && pwd)
case $(go env GOOS) in
darwin) library=libtropica.dylib ;;
windows) library=tropica.dll ;;
*) library=libtropica.so ;;
esac
(cd "$here" && CGO_ENABLED=1 go build -trimpath -buildmode=c-shared -ldflags="-s -w" -o "$to/$library" .)
rm -f "$to/${library%.*}.h" # cgo's own; tropica.h is what to include
(cd "$here/../.." && CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o "$to/fst" ./cmd/fst)
