#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Adds inputs to the corpus of a fuzzing target, which is the archive corpus/TARGET.tar.xz.
#
#   tests/fuzz/add_inputs.sh TARGET FILE...
#
# An input keeps the name of its file. An input of that name in the corpus is replaced. Equal inputs
# make equal archives: the files are sorted, without times and owners. To remove an input or to see
# all of them, unpack the archive: tar --extract --file corpus/TARGET.tar.xz --directory FOLDER
set -euo pipefail

if (($# < 2)); then
  echo "usage: $0 TARGET FILE..." >&2
  exit 2
fi
archive=$(dirname "${BASH_SOURCE[0]}")/corpus/$1.tar.xz
shift

folder=$(mktemp -d "${TMPDIR:-/tmp}/zklock-corpus.XXXXXX")
trap 'rm -rf -- "$folder"' EXIT
mkdir "$folder/inputs"
if [[ -e $archive ]]; then tar --extract --file "$archive" --directory "$folder/inputs"; fi
cp -t "$folder/inputs" -- "$@"

# Names without a folder, in one order on each machine.
(cd "$folder/inputs" && printf '%s\0' *) | LC_ALL=C sort -z >"$folder/names"
tar --create --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 \
  --directory "$folder/inputs" --null --no-recursion --files-from "$folder/names" |
  xz -9 --threads=1 >"$folder/packed"
cp "$folder/packed" "$archive"
