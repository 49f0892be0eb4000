#!/usr/bin/env bash
# What the native collector costs, part by part, and two captures of it: of a workload,
# and of a program that uses the PyTorch profiler.
#
#     bash docs/measured/collector_diagnosis.sh FOLDER
set -u
out=$1
measure() { timeout "$1" python3 benchmarks/collector_overhead.py --diagnose "${@:2}"; }
collect() { timeout 40 python3 -m tracekit collect --quiet --with cupti --no-convert "$@"; echo "exit $?"; }
collect -o "$out/resnet50.run" --workload resnet50 --preset tiny --steps 8
collect -o "$out/profiler.run" -- python3 benchmarks/launches.py 2 500 torch
measure 80 --loop plain --rounds 3 --repetitions 8 --launches 10000 -o "$out/plain.json" \
  cupti nsys "late all" "late calls" calls "copies, sync" "copies, memory" \
  "copies, overhead" "copies, device,context" noflush big discard
measure 90 --rounds 2 --repetitions 6 -o "$out/torch.json" \
  cupti nsys "late all" calls noflush
find "$out" -name '*.log' -delete
ls -R "$out"
