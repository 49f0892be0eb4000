#!/usr/bin/env bash
# Records the memory of trainings on a machine with a GPU and PyTorch.
#
#     bash docs/measured/memory.sh FOLDER
#
# FOLDER takes the captures, each in a folder of its own; memory_check.py beside this
# reads them on any machine. The recorder alone is needed: no tracekit is installed.
set -u
out=$(mkdir -p "$1" && cd "$1" && pwd)
here=$(cd "$(dirname "$0")/../.." && pwd)
cd "$here" || exit 1
say() { printf '\n== %s\n' "$*"; }

# Runs a program with the recorder in it: FOLDER STEPS SECONDS COMMAND...
recorded() {
  env TRACEKIT_HOOKS=torch_memory TRACEKIT_TORCH_MEMORY="$out/$1" \
    TRACEKIT_TORCH_MEMORY_STEPS="$2" \
    PYTHONPATH="$here/collectors/python${PYTHONPATH:+:$PYTHONPATH}" \
    timeout -k 5 "$3" "${@:4}" 2>&1 | tail -n 4 | tee -a "$out/said.txt"
}

programs=docs/measured/memory_programs.py
say "known by arithmetic"
recorded mlp 4 60 python3 $programs mlp
recorded mlp-1024 4 60 python3 $programs mlp --batch 1024
recorded cnn 4 60 python3 $programs cnn

say "cost"
for batch in 32 64; do
  for _ in 1 2; do
    timeout -k 5 60 python3 $programs resnet50 --batch "$batch" --steps 40 | tee -a "$out/said.txt"
    recorded "cost-$batch" 40 60 python3 $programs resnet50 --batch "$batch" --steps 40
  done
done

say "ways to train"
for way in plain amp accumulate checkpoint ddp compile; do
  recorded "way-$way" 4 100 python3 $programs "$way"
done

say "workloads"
while read -r name batch; do
  start=$SECONDS
  recorded "workload-$name-$batch" 6 70 python3 workloads/run.py "$name" --framework torch \
    --batch-size "$batch" --steps 8 --device cuda --record "$out/$name-$batch.record.jsonl"
  echo "$name $batch: $((SECONDS - start)) s"
done <<'WORKLOADS'
resnet50 32
resnet50 64
inception3 32
inception3 64
seq2seq 64
seq2seq 128
transformer 1024
transformer 2048
faster_rcnn 1
faster_rcnn 2
deepspeech2 4
deepspeech2 8
wgan 32
wgan 64
a3c 16
a3c 32
bert 4
bert 8
WORKLOADS

say "captures"
du -sh "$out"
rm -rf "$out"/cost-*
ls "$out"
