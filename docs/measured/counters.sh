#!/usr/bin/env bash
# Collects timelines and counters on a machine with a GPU and Nsight Compute, of a program
# with a known FLOP count among others. counters.md is a log of it.
#
#     bash docs/measured/counters.sh FOLDER
#
# FOLDER takes the files. LIBDW may name a folder with libdw.so.1, for a machine without.
set -u
out=$1
[ -z "${LIBDW:-}" ] || export LD_LIBRARY_PATH=$LIBDW${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
mkdir -p "$out"
cd "$out" || exit
say() { printf '\n== %s (%d s)\n' "$*" "$SECONDS"; }
tracekit() { timeout "${LIMIT:-60}" python3 -m tracekit "$@"; }
collect() { LIMIT=170 tracekit collect "$@" 2>&1 | tr '\r' '\n' | grep -v '%' | cut -c1-300 | tail -n "${LINES_SHOWN:-14}"; echo "exit ${PIPESTATUS[0]}"; }
ask() { tracekit query "$@" --quiet --format csv | cut -c1-260; }

cat >gemm.py <<'PY'
import torch

a = torch.randn(2048, 2048, device="cuda")
b = torch.randn(2048, 2048, device="cuda")
x = torch.randn(2**24, device="cuda")
y = torch.randn(2**24, device="cuda")
torch.backends.cuda.matmul.allow_tf32 = False
torch.cuda.synchronize()
torch.cuda.cudart().cudaProfilerStart()
for _ in range(4):
    a @ b
    x.add_(y, alpha=0.5)
    x.mul_(1.0001)
torch.backends.cuda.matmul.allow_tf32 = True
for _ in range(2):
    a @ b
torch.cuda.synchronize()
torch.cuda.cudart().cudaProfilerStop()
PY
say "ncu"
ncu=$(python3 -c "from tracekit.tools.ncu import find_ncu; print(find_ncu().path)")
"$ncu" --version | tail -n 1
timeout 60 "$ncu" --query-metrics >metrics.txt 2>metrics.err
echo "exit $?"; head -n 6 metrics.txt | cut -c1-160; wc -l metrics.txt; grep -c sass metrics.txt
grep -E '^(Device|Chip)' metrics.txt; grep -E 'ffma_pred_on|dram__bytes |ops_path_tensor_src_tf32' metrics.txt | cut -c1-120
say "known FLOP: 4 matmuls of 17,179,869,184, add_ 33,554,432, mul_ 16,777,216"
time collect --with cupti --counters --range cudaProfilerApi -o gemm.run -- python3 gemm.py
tracekit info gemm.run | sed -n '/oined/,/^$/p'
ask compute.fp32_utilization gemm.run
ask compute.pipes gemm.run
tracekit sql "SELECT short_name, fp32_flop, tensor_tf32_ops, launch_index FROM kernel_counter JOIN kernel USING (kernel_id) ORDER BY start_ns" gemm.run --format csv
say "ResNet-50 by one command"
time LINES_SHOWN=20 collect --workload resnet50 --steps 20 --counters -o net.run
tracekit info net.run | sed -n '/oined/,/^$/p'
ask tbd.summary net.run
ask tbd.longest_low_fp32_kernels net.run
ask compute.fp32_utilization net.run --window steps
say "a range by calls"
time collect --with ncu --range cudaProfilerApi -o calls.run -- python3 gemm.py
tracekit sql "SELECT count(DISTINCT launch_index) AS launches FROM kernel_metric" calls.run --format csv
say "a range that is never entered, a program that fails, Ctrl-C"
collect --with ncu --range nvtx:nowhere -o none.run -- python3 gemm.py
collect --with ncu --range cudaProfilerApi -o fails.run -- python3 -c "exec(open('gemm.py').read()); raise SystemExit(37)"
python3 -m tracekit collect --with ncu --range cudaProfilerApi -o int.run -- python3 -c "exec(open('gemm.py').read()); import time; time.sleep(60)" >int.txt 2>&1 & job=$!
sleep 15; kill -INT $job; wait $job; echo "exit $?"; tail -n 4 int.txt | cut -c1-200
say "a NVTX range"
collect --workload a3c --steps 3 --with ncu --range "nvtx:iteration 1" -o nvtx.run
tracekit sql "SELECT count(DISTINCT launch_index) AS launches FROM kernel_metric" nvtx.run --format csv
rm -f ./*.nsys-rep ./*.sqlite
du -sh .
