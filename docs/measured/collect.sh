#!/usr/bin/env bash
# Collects on a machine with a GPU, with nsys and with the native collector, and compares
# the two. collect.md is a log of it.
#
#     TRACEKIT_NSYS=/path/to/nsys bash docs/measured/collect.sh FOLDER
#
# FOLDER takes the files. LIBDW may name a folder with libdw.so.1 for a machine that lacks
# it: then the failure without it is shown first.
set -u
out=$1
libdw=${LIBDW:-}
mkdir -p "$out"
cd "$out"
say() { printf '\n== %s\n' "$*"; }
tracekit() { python3 -m tracekit "$@"; }
collect() { timeout 60 python3 -m tracekit collect --quiet "$@"; echo "exit $?"; }

cat >program.py <<'PY'
import sys, time
import torch

device = torch.device("cuda")
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3), torch.nn.ReLU(), torch.nn.Flatten(),
    torch.nn.Linear(32 * 30 * 30, 10),
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
images = torch.randn(64, 3, 32, 32).pin_memory()
labels = torch.randint(0, 10, (64,), device=device)
how = sys.argv[1] if len(sys.argv) > 1 else ""
def step(number):
    torch.cuda.nvtx.range_push(f"step {number}")
    optimizer.zero_grad()
    output = model(images.to(device, non_blocking=True))
    torch.nn.functional.cross_entropy(output, labels).backward()
    optimizer.step()
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
for number in range(6):
    if number == 2:
        torch.cuda.cudart().cudaProfilerStart()
    step(number)
torch.cuda.cudart().cudaProfilerStop()
if how == "torch":
    with torch.profiler.profile() as profiler:
        step(6)
    print("kineto saw", sum("cuda" in str(e.device_type).lower() for e in profiler.events()))
if how == "graph":
    x = torch.ones(1000, device=device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(5):
            x = x * 2
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
if how == "wait":
    print("waiting", flush=True)
    time.sleep(60)
if how == "crash":
    time.sleep(1.5)
    import ctypes; ctypes.string_at(0)
if how == "exit":
    sys.exit(37)
print("program done")
PY
cat >launches.py <<'PY'
import time
import torch
x = torch.zeros(16, device="cuda")
for _ in range(3000):
    x.add_(1)
torch.cuda.synchronize()
times = []
for _ in range(5):
    begin = time.perf_counter()
    for _ in range(20000):
        x.add_(1)
    torch.cuda.synchronize()
    times.append((time.perf_counter() - begin) / 20000 * 1e6)
print("us a launch:", " ".join(f"{t:.2f}" for t in sorted(times)))
PY

say "cupti"
time tracekit collect --with cupti -o c.run -- python3 program.py
echo "exit $?"
tracekit info c.run | sed -n '/Tables/,/Not in/p'
say "cupti: range, graph, exit 37, crash, torch profiler, interrupt"
collect --with cupti --range cudaProfilerApi -o cr.run -- python3 program.py
collect --with cupti -o cg.run -- python3 program.py graph
collect --with cupti -o ce.run -- python3 program.py exit
collect --with cupti -o cc.run -- python3 program.py crash 2>&1 | tail -n 3
collect --with cupti -o ct.run -- python3 program.py torch
python3 -m tracekit collect --with cupti -o ci.run -- python3 program.py wait & job=$!
sleep 9; kill -INT $job; wait $job; echo "exit $?"
if [ -n "$libdw" ]; then
  say "nsys without libdw.so.1"
  collect --with nsys -o n0.run -- python3 program.py
  export LD_LIBRARY_PATH=$libdw${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
say "nsys"
time tracekit collect --with nsys -o n.run -- python3 program.py >n.out 2>n.err
echo "exit $?"; echo "stdout:"; cat n.out; echo "stderr:"; tr '\r' '\n' <n.err | grep -v '%' | cut -c1-400 | tail -n 25
tracekit info n.run | sed -n '/Tables/,/Not in/p'
say "nsys: range, graphs, exit 37, crash, torch profiler, interrupt"
collect --with nsys --range cudaProfilerApi -o nr.run -- python3 program.py 2>/dev/null
collect --with nsys --preset graphs --preset memory -o ng.run -- python3 program.py graph 2>&1 | tr '\r' '\n' | grep -v '%' | tail -n 5
collect --with nsys -o ne.run -- python3 program.py exit 2>/dev/null
collect --with nsys -o nc.run -- python3 program.py crash 2>&1 | grep -v '%' | tail -n 3
collect --with nsys -o nt.run -- python3 program.py torch 2>&1 | tr '\r' '\n' | grep -v '%' | tail -n 6
python3 -m tracekit collect --quiet --with nsys -o ni.run -- python3 program.py wait 2>/dev/null & job=$!
sleep 11; kill -INT $job; wait $job; echo "exit $?"
say "the two beside each other: kernels, launches"
for pair in c:n cr:nr cg:ng; do
  for run in ${pair%:*} ${pair#*:}; do
    tracekit sql "SELECT canonical_name AS name, count(*) AS launches FROM kernel GROUP BY ALL ORDER BY ALL" $run.run --format csv >$run.csv
    tracekit sql "SELECT count(*) AS kernels, count(DISTINCT canonical_name) AS names, sum(end_ns - start_ns) AS total_ns FROM kernel" $run.run --format csv | tail -n 1
  done
  diff ${pair%:*}.csv ${pair#*:}.csv >$pair.diff && echo "$pair: the same $(wc -l <${pair%:*}.csv) lines" || { echo "$pair differ"; cut -c1-160 $pair.diff | head -n 8; }
done
for run in c n; do
  tracekit sql "SELECT count(*) AS kernels, count(launch.call_name) AS launched FROM launch" $run.run --format csv 2>&1 | tail -n 1
  tracekit sql "SELECT text, kind, end_ns - start_ns AS ns FROM annotation ORDER BY start_ns LIMIT 6" $run.run --format csv
  tracekit query kernels.hotspots $run.run -p limit=3 -p names=short --format csv | cut -c1-120
  tracekit sql "SELECT name, domain, count(*) AS calls FROM api_call GROUP BY ALL ORDER BY calls DESC LIMIT 12" $run.run --format csv
done
say "overhead: 20,000 launches, five times"
for again in 1 2; do
  echo untraced; python3 launches.py
  echo cupti; collect --with cupti --no-convert --force -o l.run -- python3 launches.py
  echo nsys; collect --with nsys --no-convert --force -o l.run -- python3 launches.py 2>/dev/null
done
