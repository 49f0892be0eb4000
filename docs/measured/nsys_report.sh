#!/usr/bin/env bash
# Reads a real `.nsys-rep` on a machine with a GPU and Nsight Systems, and compares it
# with what the same nsys exports and reports. nsys_report.md is a log of it.
#
#     TRACEKIT_NSYS=/path/to/nsys bash docs/measured/nsys_report.sh FOLDER
#
# FOLDER takes the files. LIBDW may name a folder with libdw.so.1 and libelf.so.1, for a
# machine that lacks them: then the failure without them is shown first.
set -u
out=$1
nsys=${TRACEKIT_NSYS:-nsys}
libdw=${LIBDW:-}
mkdir -p "$out"
quiet() { tr '\r' '\n' | grep -v '%' | grep -v '^[[:space:]]*$'; }
say() { printf '\n== %s\n' "$*"; }

cat >"$out/program.py" <<'PY'
import torch

device = torch.device("cuda")
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3), torch.nn.ReLU(), torch.nn.Flatten(),
    torch.nn.Linear(32 * 30 * 30, 10),
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
images = torch.randn(64, 3, 32, 32).pin_memory()
labels = torch.randint(0, 10, (64,), device=device)
for step in range(6):
    if step == 2:
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStart()
    torch.cuda.nvtx.range_push(f"step {step}")
    optimizer.zero_grad()
    output = model(images.to(device, non_blocking=True))
    torch.nn.functional.cross_entropy(output, labels).backward()
    optimizer.step()
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
torch.cuda.cudart().cudaProfilerStop()
PY

say "nsys"
"$nsys" --version
say "profile"
LD_LIBRARY_PATH=$libdw${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$nsys" profile \
  --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-memory-usage=true \
  --capture-range=cudaProfilerApi --capture-range-end=stop --force-overwrite=true \
  --output="$out/program" python3 "$out/program.py" 2>&1 | quiet
ls "$out"

if [ -n "$libdw" ]; then
  say "convert without libdw.so.1"
  python3 -m tracekit convert "$out/program.nsys-rep" -o "$out/none.run"
  echo "exit $?"
  say "what nsys itself says then"
  "$nsys" export -t parquetdir -o "$out/none_pqtdir" "$out/program.nsys-rep" >"$out/nsys.txt" 2>&1
  echo "exit $?"
  quiet <"$out/nsys.txt"
  export LD_LIBRARY_PATH=$libdw${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

say "doctor"
python3 -m tracekit doctor
say "convert the report"
time python3 -m tracekit convert "$out/program.nsys-rep" -o "$out/report.run"
echo "exit $?"
python3 -m tracekit info "$out/report.run"
say "convert its SQLite and parquetdir exports"
"$nsys" export -t sqlite -o "$out/program.sqlite" --force-overwrite=true "$out/program.nsys-rep" 2>&1 | quiet
"$nsys" export -t arrowdir -o "$out/program_arwdir" --force-overwrite=true "$out/program.nsys-rep" 2>&1 | quiet
python3 -m tracekit convert "$out/program.sqlite" -o "$out/sqlite.run"
python3 -m tracekit convert "$out/program_arwdir" -o "$out/arrow.run"

say "the answers from the report beside those from its exports"
for query in kernels.hotspots gpu.utilization overlap.cpu_gpu api.summary copies.by_time annotations.summary launches.summary quality.capture; do
  for run in report sqlite arrow; do
    [ -d "$out/$run.run" ] || continue
    python3 -m tracekit query "$query" "$out/$run.run" --quiet --format csv >"$out/$run.csv"
    cmp "$out/report.csv" "$out/$run.csv" && echo "$query: $run has the same $(wc -l <"$out/$run.csv") lines"
  done
done
say "kernels: tracekit beside nsys stats"
python3 -m tracekit query kernels.hotspots "$out/report.run" -p limit=3 --format csv
"$nsys" stats --report cuda_gpu_kern_sum --format csv "$out/program.sqlite" 2>/dev/null | grep -v '^$' | tail -n +1 | head -n 5

say "a stream that was never imported"
cp /tmp/nsys-report-*.qdstrm "$out/program.qdstrm" 2>/dev/null || printf 'no stream was left\n'
[ ! -e "$out/program.qdstrm" ] || { python3 -m tracekit convert "$out/program.qdstrm" -o "$out/stream.run"; echo "exit $?"; }
say "a report cut short"
head -c 5000 "$out/program.nsys-rep" >"$out/cut.nsys-rep"
python3 -m tracekit convert "$out/cut.nsys-rep" -o "$out/cut.run"
echo "exit $?"
ls -d "$out/cut.run" 2>&1 | tail -n 1
