// Stands in for libcupti where there is no GPU: it has the functions that the collector
// calls, and hands out the records that a test program asks for. For tests only.

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace {

std::recursive_mutex g_mutex;
CUpti_BuffersCallbackRequestFunc g_request = nullptr;
CUpti_BuffersCallbackCompleteFunc g_complete = nullptr;
CUpti_CallbackFunc g_callback = nullptr;
std::set<uint32_t> g_kinds;
std::set<std::pair<int, CUpti_CallbackId>> g_calls;
uint8_t* g_buffer = nullptr;
size_t g_size = 0;
size_t g_used = 0;
std::atomic<size_t> g_dropped{0};

const std::map<std::pair<int, CUpti_CallbackId>, const char*> kNames = {
    {{CUPTI_CB_DOMAIN_RUNTIME_API, 13}, "cudaGetLastError_v3020"},
    {{CUPTI_CB_DOMAIN_RUNTIME_API, 31}, "cudaMemcpy_v3020"},
    {{CUPTI_CB_DOMAIN_RUNTIME_API, 211}, "cudaLaunchKernel_v7000"},
    {{CUPTI_CB_DOMAIN_DRIVER_API, 307}, "cuLaunchKernel"},
};

size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel9);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: return sizeof(CUpti_ActivityGraphTrace2);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: return sizeof(CUpti_ActivityCudaEvent2);
    case CUPTI_ACTIVITY_KIND_MEMORY2: return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_MARKER: return sizeof(CUpti_ActivityMarker2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_DEVICE: return sizeof(CUpti_ActivityDevice5);
    case CUPTI_ACTIVITY_KIND_CONTEXT: return sizeof(CUpti_ActivityContext3);
    default: return 0;
  }
}

bool is_wanted(const CUpti_Activity* record) {
  if (g_kinds.count(record->kind)) return true;
  const bool is_runtime = record->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
  if (!is_runtime && record->kind != CUPTI_ACTIVITY_KIND_DRIVER) return false;
  const auto id = reinterpret_cast<const CUpti_ActivityAPI*>(record)->cbid;
  return g_calls.count(
      {is_runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, id});
}

void complete() {
  uint8_t* buffer = g_buffer;
  g_buffer = nullptr;
  if (buffer && g_complete) g_complete(nullptr, 0, buffer, g_size, g_used);
}

}  // namespace

extern "C" {

// For the test program.
void stand_in_record(const CUpti_Activity* record) {
  const std::lock_guard<std::recursive_mutex> lock(g_mutex);
  const size_t size = size_of(record->kind);
  if (!is_wanted(record)) return;
  if (g_buffer && g_used + size > g_size) complete();
  if (!g_buffer) {
    size_t most = 0;
    g_used = 0;
    g_request(&g_buffer, &g_size, &most);
  }
  if (!g_buffer) {
    ++g_dropped;
    return;
  }
  std::memcpy(g_buffer + g_used, record, size);
  g_used += size;
}

void stand_in_profiler_call(CUpti_CallbackId id, CUpti_ApiCallbackSite site) {
  CUpti_CallbackData data{};
  data.callbackSite = site;
  if (g_callback) g_callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
}

CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t* now) {
  *now = 1000;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc callback, void*) {
  g_callback = callback;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                                CUpti_CallbackId) {
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id,
                                 const char** name) {
  const auto found = kNames.find({domain, id});
  if (found == kNames.end()) {
    // As the real one has a name for each id that there is.
    *name = "cudaOther";
    return id < 400 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
  }
  *name = found->second;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const char* refused = std::getenv("STAND_IN_REFUSES");
  if (refused && kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    return static_cast<CUptiResult>(std::atoi(refused));
  }
  g_kinds.insert(kind);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  g_kinds.erase(kind);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t on) {
  if (on) g_calls.insert({CUPTI_CB_DOMAIN_RUNTIME_API, id});
  else g_calls.erase({CUPTI_CB_DOMAIN_RUNTIME_API, id});
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t on) {
  if (on) g_calls.insert({CUPTI_CB_DOMAIN_DRIVER_API, id});
  else g_calls.erase({CUPTI_CB_DOMAIN_DRIVER_API, id});
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType) { return CUPTI_SUCCESS; }

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  g_request = request;
  g_complete = complete;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid,
                                       CUpti_Activity** record) {
  uint8_t* next = buffer;
  if (*record) {
    next = reinterpret_cast<uint8_t*>(*record) + size_of((*record)->kind);
  }
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = g_dropped.exchange(0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t) {
  const std::lock_guard<std::recursive_mutex> lock(g_mutex);
  complete();
  return CUPTI_SUCCESS;
}

int InitializeInjectionNvtx2(void* table) {
  *static_cast<int*>(table) = 4711;
  return 1;
}

}  // extern "C"
