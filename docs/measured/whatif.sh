#!/usr/bin/env bash
# Records a training in several configurations on a GPU, to compare what whatif.kernel
# predicts from one of them with what the others measured. whatif.md has the results.
#
#     bash docs/measured/whatif.sh FOLDER
set -u
out=$1
mkdir -p "$out"
here=$(cd "$(dirname "$0")" && pwd)
timeout 200 python3 "$here/whatif_program.py" "$out" 2>&1 | grep -v '^STAGE:\|Warning'
echo "exit ${PIPESTATUS[0]}"
ls -l "$out"
