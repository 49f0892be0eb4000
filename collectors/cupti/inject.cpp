// The library that the CUDA driver loads into every process that uses it
// (CUDA_INJECTION64_PATH), and NVTX into every one that marks ranges.
//
// TRACEKIT_CUPTI_FOLDER  where each process writes its process-PID.cupti
// TRACEKIT_CUPTI_LIBRARY the libcupti to use if the process has loaded none
// TRACEKIT_CUPTI_RANGE   `cudaProfilerApi`: record from cudaProfilerStart to Stop
// TRACEKIT_CUPTI_CALLS   `all`: every CUDA call, not only those that launch, copy,
//                        allocate or synchronize
// TRACEKIT_CUPTI_GRAPHS  `graph`: one record a graph launch instead of its kernels
// TRACEKIT_CUPTI_BUFFERS how many buffers of 1 MiB there may be
// TRACEKIT_CUPTI_SYNC    `on`: also records of waits, beside the calls that wait
// TRACEKIT_CUPTI_MEMORY  `on`: also records of allocations
// TRACEKIT_CUPTI_RECORDS the kinds of records to take, instead: kernel,memcpy,...

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "buffers.h"
#include "capture_file.h"
#include "cupti_library.h"
#include "records.h"

namespace tracekit {
namespace {

constexpr long kWakeNs = 250'000'000;
constexpr size_t kMostBuffers = 64;
constexpr int kEndingSignals[] = {SIGTERM, SIGINT, SIGHUP};

struct Recorded {
  CUpti_ActivityKind kind;
  const char* name;
};

// What is recorded, unless fewer are named. CUDA calls are chosen one by one.
constexpr Recorded kRecorded[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernel"},
    {CUPTI_ACTIVITY_KIND_MEMCPY, "memcpy"},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, "memcpy"},
    {CUPTI_ACTIVITY_KIND_MEMSET, "memset"},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "sync"},
    {CUPTI_ACTIVITY_KIND_MEMORY2, "memory"},
    {CUPTI_ACTIVITY_KIND_MARKER, "marker"},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, "overhead"},
    {CUPTI_ACTIVITY_KIND_DEVICE, "device"},
    {CUPTI_ACTIVITY_KIND_CONTEXT, "context"},
};
// Beyond those that launch, copy, allocate or synchronize.
constexpr CUpti_ActivityKind kCalls[] = {CUPTI_ACTIVITY_KIND_RUNTIME,
                                         CUPTI_ACTIVITY_KIND_DRIVER};
constexpr CUpti_CallbackId kMostCallbacks = 4096;
constexpr int kGap = 64;

// Set only while there is something to record into: never in a forked child.
struct Collector;
std::atomic<Collector*> g_collector{nullptr};
sem_t g_wake;
std::atomic<bool> g_stop{false};
std::atomic<int> g_signal{0};
struct sigaction g_former[NSIG];
std::atomic<bool> g_installed[NSIG];

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Whether a word is in a comma-separated setting.
bool names(const std::string& setting, const char* word) {
  return ("," + setting + ",").find("," + std::string(word) + ",") != std::string::npos;
}

bool is_recorded(const std::string& record) {
  const std::string wanted = setting("TRACEKIT_CUPTI_RECORDS");
  if (!wanted.empty()) return names(wanted, record.c_str());
  if (record == "sync") return setting("TRACEKIT_CUPTI_SYNC") == "on";
  if (record == "memory") return setting("TRACEKIT_CUPTI_MEMORY") == "on";
  return true;
}

// Variables that say which process of a job this is; others may hold secrets.
constexpr const char* kVariables[] = {
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
    "SLURM_PROCID", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING",
    "NVIDIA_TF32_OVERRIDE",
};

std::string line_of(const std::string& key, std::string value) {
  for (char& letter : value) {
    if (letter == '\n' || letter == '\r') letter = ' ';
  }
  return key + " " + value + "\n";
}

int64_t utc_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::string facts_of(const CuptiLibrary& cupti) {
  uint32_t version = 0;
  cupti.cuptiGetVersion(&version);
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::string facts = line_of("pid", std::to_string(getpid()));
  facts += line_of("host", host);
  facts += line_of("program", program_invocation_short_name);
  facts += line_of("start_utc_ns", std::to_string(utc_ns()));
  facts += line_of("cupti_version", std::to_string(version));
  facts += line_of("built_for", std::to_string(CUPTI_API_VERSION));
  for (const char* name : kVariables) {
    if (const char* value = std::getenv(name)) {
      facts += line_of(std::string("variable ") + name, value);
    }
  }
  return facts;
}

struct Collector {
  Collector(const CuptiLibrary& library, const std::string& path, size_t most_buffers)
      : cupti(library),
        file(path, facts_of(library)),
        records(library, file),
        buffers(most_buffers) {}

  // Chooses what is recorded, and records it from now on.
  void enable() {
    for (const Recorded& one : kRecorded) {
      if (is_recorded(one.name)) note_refusal(one.kind, cupti.cuptiActivityEnable(one.kind));
    }
    if (setting("TRACEKIT_CUPTI_GRAPHS") == "graph") {
      cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    }
    if (setting("TRACEKIT_CUPTI_CALLS") == "all") {
      for (const CUpti_ActivityKind kind : kCalls) cupti.cuptiActivityEnable(kind);
      cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CUDA_EVENT);
      return;
    }
    records.keep_essential_calls_only();
    if (cupti.cuptiActivityEnableRuntimeApi && cupti.cuptiActivityEnableDriverApi) {
      if (is_recorded("runtime")) {
        enable_calls(CUPTI_CB_DOMAIN_RUNTIME_API, cupti.cuptiActivityEnableRuntimeApi, 1);
      }
      if (is_recorded("driver")) {
        enable_calls(CUPTI_CB_DOMAIN_DRIVER_API, cupti.cuptiActivityEnableDriverApi, 1);
      }
    } else {
      for (const CUpti_ActivityKind kind : kCalls) cupti.cuptiActivityEnable(kind);
    }
  }

  void disable() {
    for (const Recorded& one : kRecorded) cupti.cuptiActivityDisable(one.kind);
    for (const CUpti_ActivityKind kind : kCalls) cupti.cuptiActivityDisable(kind);
    if (cupti.cuptiActivityEnableRuntimeApi && cupti.cuptiActivityEnableDriverApi) {
      enable_calls(CUPTI_CB_DOMAIN_RUNTIME_API, cupti.cuptiActivityEnableRuntimeApi, 0);
      enable_calls(CUPTI_CB_DOMAIN_DRIVER_API, cupti.cuptiActivityEnableDriverApi, 0);
    }
  }

  void enable_calls(CUpti_CallbackDomain domain,
                    CUptiResult (*enable_call)(CUpti_CallbackId, uint8_t), uint8_t on) {
    int unnamed = 0;
    for (CUpti_CallbackId id = 1; id < kMostCallbacks && unnamed < kGap; ++id) {
      const char* name = nullptr;
      const bool named =
          cupti.cuptiGetCallbackName(domain, id, &name) == CUPTI_SUCCESS && name;
      unnamed = named ? 0 : unnamed + 1;
      if (named && is_essential_call(name)) enable_call(id, on);
    }
  }

  void drain() {
    Filled filled{};
    while (buffers.next(filled)) {
      records.add(filled.buffer, filled.valid_bytes);
      buffers.give_back(filled.buffer);
    }
  }

  // Puts what CUPTI holds into the file.
  void flush(uint32_t how) {
    cupti.cuptiActivityFlushAll(how);
    drain();
    // Those since the last buffer that was handed over.
    count_dropped(nullptr, 0);
    if (const uint64_t refusal = refused.exchange(0)) {
      file.add(kRefused, {static_cast<int64_t>(refusal >> 32),
                          static_cast<int64_t>(refusal & 0xffffffff)});
    }
    const uint64_t lost = dropped.exchange(0);
    if (lost) file.add(kDropped, {static_cast<int64_t>(lost)});
    note_clock();
    file.flush();
  }

  // Kept until the next flush, and the first of several: `activity` 0 is all of them.
  void note_refusal(uint64_t activity, CUptiResult error) {
    uint64_t none = 0;
    if (error != CUPTI_SUCCESS) {
      refused.compare_exchange_strong(none, activity << 32 | static_cast<uint32_t>(error));
    }
  }

  void count_dropped(CUcontext context, uint32_t stream) {
    size_t lost = 0;
    if (cupti.cuptiActivityGetNumDroppedRecords(context, stream, &lost) ==
        CUPTI_SUCCESS) {
      dropped += lost;
    }
  }

  void note_clock() {
    uint64_t now = 0;
    const int64_t before = utc_ns();
    if (cupti.cuptiGetTimestamp(&now) == CUPTI_SUCCESS) {
      file.add(kClock, {static_cast<int64_t>(now), before + (utc_ns() - before) / 2});
    }
  }

  const CuptiLibrary& cupti;
  CaptureFile file;
  Records records;
  Buffers buffers;
  std::atomic<uint64_t> dropped{0};
  std::atomic<uint64_t> refused{0};
  std::thread writer;
};

void CUPTIAPI on_request(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  Collector* collector = g_collector.load();
  *most_records = 0;
  *buffer = collector ? collector->buffers.take() : nullptr;
  *bytes = *buffer ? Buffers::kBytes : 0;
}

void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t* buffer, size_t,
                          size_t valid_bytes) {
  Collector* collector = g_collector.load();
  if (collector == nullptr) return;
  collector->count_dropped(context, stream);
  if (buffer != nullptr) {
    collector->buffers.put_filled({buffer, valid_bytes});
    sem_post(&g_wake);
  }
}

void CUPTIAPI on_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                      const void* data) {
  Collector* collector = g_collector.load();
  if (collector == nullptr || domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  const auto site = static_cast<const CUpti_CallbackData*>(data)->callbackSite;
  if (id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart && site == CUPTI_API_EXIT) {
    collector->enable();
  } else if (id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop && site == CUPTI_API_ENTER) {
    collector->disable();
  }
}

void write_until_stopped(Collector* collector) {
  // Signals are for the program's own threads.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  int64_t flushed = utc_ns();
  while (!g_stop.load()) {
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += kWakeNs;
    if (until.tv_nsec >= 1'000'000'000) {
      until.tv_nsec -= 1'000'000'000;
      ++until.tv_sec;
    }
    sem_timedwait(&g_wake, &until);
    collector->drain();
    if (utc_ns() - flushed >= 3 * kWakeNs) {
      collector->flush(0);
      flushed = utc_ns();
    }
    if (const int number = g_signal.load()) {
      collector->flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
      // The handler has given the signal its former meaning back: this ends it.
      kill(getpid(), number);
      g_signal = 0;
    }
  }
}

void on_signal(int number) {
  // Only what a handler may do: the writer thread does the rest.
  g_signal = number;
  sem_post(&g_wake);
}

// Takes the signals that would end the program with records unwritten.
void take_signals() {
  for (const int number : kEndingSignals) {
    if (sigaction(number, nullptr, &g_former[number]) != 0) continue;
    if (g_former[number].sa_handler != SIG_DFL) continue;  // the program sees to it
    struct sigaction ours {};
    ours.sa_handler = on_signal;
    ours.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    sigemptyset(&ours.sa_mask);
    g_installed[number] = sigaction(number, &ours, nullptr) == 0;
  }
}

void on_fork_in_child() {
  // The child has no writer thread and may not use CUDA: it is not traced.
  g_collector = nullptr;
  for (const int number : kEndingSignals) {
    if (g_installed[number]) sigaction(number, &g_former[number], nullptr);
  }
}

void finish() {
  Collector* collector = g_collector.load();
  if (collector == nullptr) return;
  g_stop = true;
  sem_post(&g_wake);
  if (collector->writer.joinable()) collector->writer.join();
  collector->flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  collector->file.close();
  // Late callbacks find nothing to write to.
  g_collector = nullptr;
}

std::string free_path(const std::string& folder) {
  // A program that another one became has the same process id.
  const std::string stem = folder + "/process-" + std::to_string(getpid());
  std::string path = stem + ".cupti";
  for (int number = 2; access(path.c_str(), F_OK) == 0; ++number) {
    path = stem + "-" + std::to_string(number) + ".cupti";
  }
  return path;
}

bool start() {
  const std::string folder = setting("TRACEKIT_CUPTI_FOLDER");
  const CuptiLibrary* cupti = cupti_library();
  if (folder.empty() || cupti == nullptr) return false;
  const std::string most = setting("TRACEKIT_CUPTI_BUFFERS");
  const long asked = std::strtol(most.c_str(), nullptr, 10);
  // Never deleted: callbacks may come until the process is gone.
  auto* collector =
      new Collector(*cupti, free_path(folder),
                    asked > 0 ? static_cast<size_t>(asked) : kMostBuffers);
  if (!collector->file.is_open()) return false;
  if (cupti->cuptiSetThreadIdType) {
    cupti->cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  }
  sem_init(&g_wake, 0, 0);
  g_collector = collector;
  CUpti_SubscriberHandle subscriber{};
  collector->note_refusal(0, cupti->cuptiSubscribe(&subscriber, on_call, nullptr));
  cupti->cuptiActivityRegisterCallbacks(on_request, on_complete);
  if (setting("TRACEKIT_CUPTI_RANGE") == "cudaProfilerApi") {
    for (const CUpti_CallbackId id : {CUPTI_DRIVER_TRACE_CBID_cuProfilerStart,
                                      CUPTI_DRIVER_TRACE_CBID_cuProfilerStop}) {
      cupti->cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
    }
  } else {
    collector->enable();
  }
  collector->note_clock();
  collector->file.flush();
  collector->writer = std::thread(write_until_stopped, collector);
  pthread_atfork(nullptr, nullptr, on_fork_in_child);
  std::atexit(finish);
  take_signals();
  return true;
}

}  // namespace
}  // namespace tracekit

extern "C" {

__attribute__((visibility("default"))) int InitializeInjection() {
  static const bool started = tracekit::start();
  return started ? 1 : 0;
}

// NVTX's ranges go to the copy of CUPTI that the records come from.
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(void* export_table) {
  const tracekit::CuptiLibrary* cupti = tracekit::cupti_library();
  if (cupti == nullptr) return 0;
  const auto initialize = reinterpret_cast<int (*)(void*)>(
      dlsym(cupti->handle, "InitializeInjectionNvtx2"));
  return initialize ? initialize(export_table) : 0;
}

}  // extern "C"
