// A launch-bound loop without a framework. Prints a JSON list with, for each repetition,
// whether it was recorded, its nanoseconds a launch, and those of a fixed piece of work
// around it, which tell how fast the core was.
//
//     launches REPETITIONS LAUNCHES [alternate]
//
// With `alternate` every other repetition is outside of cudaProfilerStart and -Stop.

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>

__global__ void tiny(float* value) { *value += 1.0f; }

static double now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e9 + now.tv_nsec;
}

static void launch(float* value, int launches) {
  for (int i = 0; i < launches; ++i) {
    tiny<<<1, 1>>>(value);
    cudaGetLastError();
  }
}

static double work() {
  const double begin = now_ns();
  volatile unsigned state = 1;
  for (int i = 0; i < 1000000; ++i) state = state * 1664525u + 1013904223u;
  return now_ns() - begin;
}

int main(int count, char** arguments) {
  const int repetitions = std::atoi(arguments[1]);
  const int launches = std::atoi(arguments[2]);
  const bool alternates = count > 3;
  float* value = nullptr;
  if (cudaMalloc(&value, sizeof *value) != cudaSuccess) return 3;
  if (!alternates) cudaProfilerStart();
  launch(value, 3000);
  cudaDeviceSynchronize();
  std::printf("[");
  for (int i = 0; i < repetitions; ++i) {
    const bool is_on = !alternates || i % 2;
    if (alternates && is_on) cudaProfilerStart();
    launch(value, 200);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    const double before = work();
    const double begin = now_ns();
    launch(value, launches);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    const double taken = (now_ns() - begin) / launches;
    const double after = work();
    if (alternates && is_on) cudaProfilerStop();
    std::printf("%s[%d, %.1f, %.0f]", i ? ", " : "", is_on, taken, (before + after) / 2);
  }
  std::printf("]\n");
}
