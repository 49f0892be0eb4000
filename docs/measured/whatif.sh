#!/usr/bin/env bash
# Records a training in several configurations on a GPU, to compare what whatif.kernel
# predicts from one of them with what the others measured. whatif.md has the results.
#
#     bash docs/measured/whatif.sh FOLDER [SIZE ...]
#     python docs/measured/whatif_compare.py FOLDER      anywhere, afterwards
#
# FOLDER takes the traces and times.json, and whatif.tar of them.
set -u
out=$1
mkdir -p "$out"
here=$(cd "$(dirname "$0")" && pwd)
timeout 200 python3 "$here/whatif_program.py" "$out" "${@:2}" 2>&1 | grep -v '^STAGE:\|Warning'
echo "exit ${PIPESTATUS[0]}"
cd "$out" && tar cf whatif.tar ./*.json.gz times.json && ls -l
