#include "records.h"

#include <cstring>

namespace tracekit {
namespace {

// As every CUPTI since 12.9 lays the records out; a newer one only appends to them.
using Kernel = CUpti_ActivityKernel9;
using Memcpy = CUpti_ActivityMemcpy6;
using MemcpyBetween = CUpti_ActivityMemcpyPtoP4;
using Memset = CUpti_ActivityMemset4;
using Memory = CUpti_ActivityMemory4;
using Event = CUpti_ActivityCudaEvent2;
using Context = CUpti_ActivityContext3;
using Overhead = CUpti_ActivityOverhead3;

constexpr int64_t kNone = -1;

int64_t bits(uint64_t value) { return static_cast<int64_t>(value); }

// A process has no thread; a thread's id is behind its process's.
int64_t thread_of(CUpti_ActivityObjectKind kind, const CUpti_ActivityObjectKindId& id) {
  return kind == CUPTI_ACTIVITY_OBJECT_THREAD ? id.pt.threadId : 0;
}

int64_t half(const char* bytes) {
  int64_t value = 0;
  for (int i = 0; i < 8; ++i) {
    value = (value << 8) | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

template <typename Record>
const Record& as(const CUpti_Activity* record) {
  return *reinterpret_cast<const Record*>(record);
}

}  // namespace

bool is_essential_call(const char* name) {
  for (const char* part :
       {"Launch", "Memcpy", "Memset", "Malloc", "MemAlloc", "HostAlloc", "Free",
        "Synchronize", "WaitEvent", "MemCreate", "MemMap", "MemUnmap", "MemRelease"}) {
    if (std::strstr(name, part) != nullptr) return true;
  }
  return false;
}

void Records::add(uint8_t* buffer, size_t valid_bytes) {
  CUpti_Activity* record = nullptr;
  while (cupti_.cuptiActivityGetNextRecord(buffer, valid_bytes, &record) ==
         CUPTI_SUCCESS) {
    add(record);
  }
}

void Records::add(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& k = as<Kernel>(record);
      file_.add(kKernel,
                {bits(k.start), bits(k.end), bits(k.graphNodeId),
                 bits(k.localMemoryTotal_v2), file_.text(k.name), k.correlationId,
                 k.deviceId, k.contextId, k.streamId, k.graphId, k.gridX, k.gridY,
                 k.gridZ, k.blockX, k.blockY, k.blockZ, k.clusterX, k.clusterY,
                 k.clusterZ, k.registersPerThread, k.staticSharedMemory,
                 k.dynamicSharedMemory, k.sharedMemoryExecuted, k.localMemoryPerThread,
                 k.launchType});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& m = as<Memcpy>(record);
      file_.add(kMemcpy, {bits(m.start), bits(m.end), bits(m.bytes), bits(m.graphNodeId),
                          bits(m.copyCount), m.correlationId, m.deviceId, m.contextId,
                          m.streamId, m.graphId, m.copyKind, m.srcKind, m.dstKind, kNone,
                          kNone});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto& m = as<MemcpyBetween>(record);
      file_.add(kMemcpy, {bits(m.start), bits(m.end), bits(m.bytes), bits(m.graphNodeId),
                          0, m.correlationId, m.deviceId, m.contextId, m.streamId,
                          m.graphId, m.copyKind, m.srcKind, m.dstKind, m.srcDeviceId,
                          m.dstDeviceId});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& m = as<Memset>(record);
      file_.add(kMemset, {bits(m.start), bits(m.end), bits(m.bytes), bits(m.graphNodeId),
                          m.correlationId, m.deviceId, m.contextId, m.streamId,
                          m.graphId, m.value, m.memoryKind});
      break;
    }
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: {
      const auto& g = as<CUpti_ActivityGraphTrace2>(record);
      file_.add(kGraphLaunch, {bits(g.start), bits(g.end), g.correlationId, g.deviceId,
                               g.contextId, g.streamId, g.graphId});
      break;
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      add_call(as<CUpti_ActivityAPI>(record), CUPTI_CB_DOMAIN_RUNTIME_API);
      break;
    case CUPTI_ACTIVITY_KIND_DRIVER:
      add_call(as<CUpti_ActivityAPI>(record), CUPTI_CB_DOMAIN_DRIVER_API);
      break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: {
      const auto& s = as<CUpti_ActivitySynchronization2>(record);
      file_.add(kSync, {bits(s.start), bits(s.end), s.type, s.correlationId, s.contextId,
                        s.streamId, s.cudaEventId});
      break;
    }
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: {
      const auto& e = as<Event>(record);
      file_.add(kCudaEvent, {e.correlationId, e.contextId, e.streamId, e.eventId});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMORY2: {
      const auto& m = as<Memory>(record);
      file_.add(kMemory,
                {bits(m.timestamp), bits(m.address), bits(m.bytes),
                 m.memoryOperationType, m.memoryKind, m.correlationId, m.deviceId,
                 m.contextId, m.streamId});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MARKER:
      add_marker(as<CUpti_ActivityMarker2>(record));
      break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD: {
      const auto& o = as<Overhead>(record);
      file_.add(kOverhead,
                {bits(o.start), bits(o.end), o.overheadKind, o.objectKind,
                 thread_of(o.objectKind, o.objectId), o.correlationId});
      break;
    }
    case CUPTI_ACTIVITY_KIND_DEVICE:
      add_device(as<CUpti_ActivityDevice5>(record));
      break;
    case CUPTI_ACTIVITY_KIND_CONTEXT: {
      const auto& c = as<Context>(record);
      file_.add(kContext, {c.contextId, c.deviceId, c.nullStreamId, c.parentContextId,
                           c.isGreenContext});
      break;
    }
    default:
      break;  // was not asked for
  }
}

void Records::add_call(const CUpti_ActivityAPI& record, CUpti_CallbackDomain domain) {
  const Call& known = call(domain, record.cbid);
  if (essential_only_ && !known.is_essential) return;
  file_.add(kApiCall, {bits(record.start), bits(record.end), known.name, domain,
                       record.correlationId, record.threadId, record.returnValue});
}

const Records::Call& Records::call(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const uint64_t key = static_cast<uint64_t>(domain) << 32 | id;
  const auto found = calls_.find(key);
  if (found != calls_.end()) return found->second;
  const char* name = nullptr;
  cupti_.cuptiGetCallbackName(domain, id, &name);
  const std::string text = name ? name : "callback_" + std::to_string(id);
  return calls_.emplace(key, Call{file_.text(text.c_str()), is_essential_call(text.c_str())})
      .first->second;
}

void Records::add_marker(const CUpti_ActivityMarker2& m) {
  file_.add(kMarker,
            {bits(m.timestamp), m.id, m.flags, file_.text(m.name), file_.text(m.domain),
             m.objectKind, m.objectId.pt.threadId});
}

void Records::add_device(const CUpti_ActivityDevice5& d) {
  file_.add(kDevice,
            {half(d.uuid.bytes), half(d.uuid.bytes + 8), bits(d.globalMemorySize),
             bits(d.globalMemoryBandwidth), d.id, file_.text(d.name),
             d.computeCapabilityMajor, d.computeCapabilityMinor, d.numMultiprocessors,
             d.coreClockRate, d.l2CacheSize, d.numThreadsPerWarp,
             d.maxWarpsPerMultiprocessor, d.maxBlocksPerMultiprocessor,
             d.maxThreadsPerBlock, d.maxRegistersPerMultiprocessor,
             d.maxSharedMemoryPerMultiprocessor});
}

}  // namespace tracekit
