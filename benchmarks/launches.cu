// A launch-bound loop without a framework: launches tiny kernels and prints the
// nanoseconds a launch of each repetition, and what a system call and a clock cost.
//
//     launches REPETITIONS LAUNCHES

#include <cuda_runtime.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

int main(int, char** arguments) {
  const int repetitions = std::atoi(arguments[1]);
  const int launches = std::atoi(arguments[2]);
  float* value = nullptr;
  if (cudaMalloc(&value, sizeof *value) != cudaSuccess) return 3;
  launch(value, 3000);
  cudaDeviceSynchronize();
  std::printf("[");
  for (int i = 0; i < repetitions; ++i) {
    const double begin = now_ns();
    launch(value, launches);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    std::printf("%s%.1f", i ? ", " : "", (now_ns() - begin) / launches);
  }
  std::printf("]\n");
  const int calls = 200000;
  double begin = now_ns();
  for (int i = 0; i < calls; ++i) syscall(SYS_gettid);
  std::fprintf(stderr, "gettid %.0f ns, ", (now_ns() - begin) / calls);
  begin = now_ns();
  timespec time{};
  for (int i = 0; i < calls; ++i) clock_gettime(CLOCK_REALTIME, &time);
  std::fprintf(stderr, "clock_gettime %.0f ns\n", (now_ns() - begin) / calls);
}
