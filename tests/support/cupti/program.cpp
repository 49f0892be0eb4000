// A "CUDA program" for tests: loads the collector as the driver would, and has the
// stand-in for libcupti record what the scenario named by its argument says.

#include <cupti.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

void (*g_record)(const CUpti_Activity*) = nullptr;
void (*g_profiler_call)(CUpti_CallbackId, CUpti_ApiCallbackSite) = nullptr;

template <typename Record>
void record(CUpti_ActivityKind kind, Record value) {
  value.kind = kind;
  g_record(reinterpret_cast<const CUpti_Activity*>(&value));
}

// Kernel number n runs from 1000 n to 1000 n + 10 + n.
void kernel(uint64_t n) {
  CUpti_ActivityKernel9 k{};
  k.start = 1000 * n;
  k.end = 1000 * n + 10 + n;
  k.correlationId = static_cast<uint32_t>(n);
  k.contextId = 1;
  k.streamId = 7;
  k.gridX = 11;
  k.gridY = 12;
  k.gridZ = 13;
  k.blockX = 14;
  k.blockY = 15;
  k.blockZ = 16;
  k.registersPerThread = 17;
  k.staticSharedMemory = 18;
  k.dynamicSharedMemory = 19;
  k.sharedMemoryExecuted = 20;
  k.localMemoryPerThread = 21;
  k.localMemoryTotal_v2 = 22;
  k.graphNodeId = n == 2 ? 0xffffffff00000001ull : 0;
  k.graphId = n == 2 ? 5 : 0;
  k.name = n % 2 ? "_Z3addPfS_i" : "sgemm_128x64";
  record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, k);
}

void call(CUpti_ActivityKind kind, CUpti_CallbackId id, uint32_t correlation) {
  CUpti_ActivityAPI a{};
  a.cbid = id;
  a.start = 900ull * correlation;
  a.end = 900ull * correlation + 50;
  a.processId = static_cast<uint32_t>(getpid());
  a.threadId = 4000000001u;
  a.correlationId = correlation;
  a.returnValue = id == 31 ? 2 : 0;
  record(kind, a);
}

void marker(uint32_t id, uint64_t time, uint32_t flags, const char* name, bool of_thread) {
  CUpti_ActivityMarker2 m{};
  m.id = id;
  m.timestamp = time;
  m.flags = static_cast<CUpti_ActivityFlag>(flags);
  m.objectKind = of_thread ? CUPTI_ACTIVITY_OBJECT_THREAD : CUPTI_ACTIVITY_OBJECT_PROCESS;
  m.objectId.pt.threadId = 4000000001u;
  m.name = name;
  m.domain = id == 3 ? "train" : nullptr;
  record(CUPTI_ACTIVITY_KIND_MARKER, m);
}

void every_kind() {
  kernel(1);
  kernel(2);
  CUpti_ActivityMemcpy6 copy{};
  copy.start = 5000;
  copy.end = 5100;
  copy.bytes = 6000000000ull;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.contextId = 1;
  copy.streamId = 8;
  copy.correlationId = 3;
  copy.copyCount = 2;
  record(CUPTI_ACTIVITY_KIND_MEMCPY, copy);
  CUpti_ActivityMemcpyPtoP4 between{};
  between.start = 5200;
  between.end = 5300;
  between.bytes = 64;
  between.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  between.contextId = 1;
  between.streamId = 8;
  between.correlationId = 4;
  between.dstDeviceId = 1;
  record(CUPTI_ACTIVITY_KIND_MEMCPY2, between);
  CUpti_ActivityMemset4 fill{};
  fill.start = 5400;
  fill.end = 5410;
  fill.bytes = 4096;
  fill.value = 4294967295u;
  fill.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  fill.contextId = 1;
  fill.streamId = 7;
  fill.correlationId = 5;
  record(CUPTI_ACTIVITY_KIND_MEMSET, fill);
  CUpti_ActivityGraphTrace2 graph{};
  graph.start = 5500;
  graph.end = 5600;
  graph.correlationId = 6;
  graph.contextId = 1;
  graph.streamId = 7;
  graph.graphId = 9;
  record(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, graph);
  call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 1);
  call(CUPTI_ACTIVITY_KIND_RUNTIME, 13, 90);
  call(CUPTI_ACTIVITY_KIND_DRIVER, 307, 2);
  call(CUPTI_ACTIVITY_KIND_RUNTIME, 31, 3);
  CUpti_ActivitySynchronization2 sync{};
  sync.start = 5700;
  sync.end = 5800;
  sync.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  sync.contextId = 1;
  sync.streamId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  sync.cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  sync.correlationId = 7;
  record(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sync);
  CUpti_ActivityCudaEvent2 event{};
  event.correlationId = 8;
  event.contextId = 1;
  event.streamId = 7;
  event.eventId = 31;
  record(CUPTI_ACTIVITY_KIND_CUDA_EVENT, event);
  CUpti_ActivityMemory4 memory{};
  memory.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  memory.address = 0x7f0000000000ull;
  memory.bytes = 2097152;
  memory.timestamp = 5900;
  memory.contextId = 1;
  memory.streamId = 7;
  memory.correlationId = 9;
  record(CUPTI_ACTIVITY_KIND_MEMORY2, memory);
  memory.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  memory.timestamp = 5950;
  record(CUPTI_ACTIVITY_KIND_MEMORY2, memory);
  marker(1, 100, CUPTI_ACTIVITY_FLAG_MARKER_START, "step 0", true);
  marker(2, 150, CUPTI_ACTIVITY_FLAG_MARKER_START, "range", false);
  marker(3, 160, CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, "point", true);
  marker(1, 200, CUPTI_ACTIVITY_FLAG_MARKER_END, nullptr, true);
  marker(2, 250, CUPTI_ACTIVITY_FLAG_MARKER_END, nullptr, false);
  marker(4, 300, CUPTI_ACTIVITY_FLAG_MARKER_START, "open", true);
  marker(5, 310, CUPTI_ACTIVITY_FLAG_MARKER_END, nullptr, true);
  CUpti_ActivityOverhead3 overhead{};
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  overhead.objectId.pt.threadId = 12;
  overhead.start = 6000;
  overhead.end = 6100;
  record(CUPTI_ACTIVITY_KIND_OVERHEAD, overhead);
  CUpti_ActivityContext3 context{};
  context.contextId = 1;
  context.nullStreamId = 7;
  record(CUPTI_ACTIVITY_KIND_CONTEXT, context);
  CUpti_ActivityDevice5 device{};
  device.name = "NVIDIA H200";
  device.globalMemorySize = 150754820096ull;
  device.globalMemoryBandwidth = 4916736000ull;
  device.numMultiprocessors = 132;
  device.coreClockRate = 1980000;
  device.computeCapabilityMajor = 9;
  device.l2CacheSize = 62914560;
  device.numThreadsPerWarp = 32;
  for (int i = 0; i < 16; ++i) device.uuid.bytes[i] = static_cast<char>(0xa0 + i);
  record(CUPTI_ACTIVITY_KIND_DEVICE, device);
}

void wait_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

void kernels(uint64_t first, uint64_t count) {
  for (uint64_t n = first; n < first + count; ++n) kernel(n);
}

int run(const std::string& scenario, int count) {
  if (scenario == "every") {
    every_kind();
  } else if (scenario == "many") {
    kernels(1, static_cast<uint64_t>(count));
  } else if (scenario == "crash") {
    kernels(1, static_cast<uint64_t>(count));
    wait_ms(1100);  // what was recorded a second ago is in the file
    kernels(1 + static_cast<uint64_t>(count), 5);
    std::raise(SIGSEGV);
  } else if (scenario == "terminated") {
    kernels(1, static_cast<uint64_t>(count));
    std::puts("ready");
    std::fflush(stdout);
    wait_ms(20000);
  } else if (scenario == "fork") {
    kernels(1, static_cast<uint64_t>(count));
    const pid_t child = fork();
    if (child == 0) {
      kernels(1000, 5);
      if (count == 3) std::exit(0);
      pause();
    }
    if (count != 3) {
      wait_ms(100);
      kill(child, SIGTERM);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  } else if (scenario == "range") {
    kernels(1, 2);
    g_profiler_call(CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, CUPTI_API_ENTER);
    g_profiler_call(CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, CUPTI_API_EXIT);
    kernels(3, 4);
    g_profiler_call(CUPTI_DRIVER_TRACE_CBID_cuProfilerStop, CUPTI_API_ENTER);
    g_profiler_call(CUPTI_DRIVER_TRACE_CBID_cuProfilerStop, CUPTI_API_EXIT);
    kernels(7, 2);
  }
  return 0;
}

}  // namespace

int main(int, char** arguments) {
  // A framework may bring its own copy, or a CUDA runtime beside which there is one.
  const char* own = std::getenv("STAND_IN_OWN");
  const char* runtime = std::getenv("STAND_IN_RUNTIME");
  if (runtime != nullptr) dlopen(runtime, RTLD_NOW);
  if (own == nullptr) own = std::getenv("TRACEKIT_CUPTI_LIBRARY");
  void* cupti = runtime ? nullptr : dlopen(own, RTLD_NOW | RTLD_GLOBAL);
  void* collector = dlopen(std::getenv("CUDA_INJECTION64_PATH"), RTLD_NOW);
  if ((cupti == nullptr && runtime == nullptr) || collector == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 99;
  }
  const auto begin =
      reinterpret_cast<int (*)()>(dlsym(collector, "InitializeInjection"));
  if (begin() != 1) return 98;
  if (runtime != nullptr) cupti = dlopen(own, RTLD_NOW | RTLD_NOLOAD);
  if (cupti == nullptr) return 96;
  g_record = reinterpret_cast<decltype(g_record)>(dlsym(cupti, "stand_in_record"));
  g_profiler_call =
      reinterpret_cast<decltype(g_profiler_call)>(dlsym(cupti, "stand_in_profiler_call"));
  const auto nvtx = reinterpret_cast<int (*)(void*)>(
      dlsym(collector, "InitializeInjectionNvtx2"));
  int told = 0;
  if (nvtx(&told) != 1 || told != 4711) return 97;
  return run(arguments[1], std::atoi(arguments[2]));
}
