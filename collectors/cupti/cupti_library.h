// The functions of CUPTI, from the copy that the traced program itself uses.
#pragma once

#include <cupti.h>

namespace tracekit {

// Not linked: a process may hold two copies, of the toolkit and of a framework's wheel,
// and NVTX ranges reach only the one that the framework loads.
struct CuptiLibrary {
  void* handle = nullptr;

#define TRACEKIT_CUPTI_FUNCTIONS(X)                                                 \
  X(cuptiGetVersion)                                                                \
  X(cuptiGetTimestamp)                                                              \
  X(cuptiSubscribe)                                                                 \
  X(cuptiEnableCallback)                                                            \
  X(cuptiGetCallbackName)                                                           \
  X(cuptiActivityEnable)                                                            \
  X(cuptiActivityDisable)                                                           \
  X(cuptiActivityRegisterCallbacks)                                                 \
  X(cuptiActivityGetNextRecord)                                                     \
  X(cuptiActivityGetNumDroppedRecords)                                              \
  X(cuptiActivityFlushAll)
// Missing from older versions.
#define TRACEKIT_CUPTI_OPTIONAL(X)                                                  \
  X(cuptiSetThreadIdType)                                                           \
  X(cuptiActivityEnableRuntimeApi)                                                  \
  X(cuptiActivityEnableDriverApi)

#define TRACEKIT_POINTER(name) decltype(&::name) name = nullptr;
  TRACEKIT_CUPTI_FUNCTIONS(TRACEKIT_POINTER)
  TRACEKIT_CUPTI_OPTIONAL(TRACEKIT_POINTER)
#undef TRACEKIT_POINTER
};

// Finds the library once; null if there is none or it lacks a function.
const CuptiLibrary* cupti_library();

}  // namespace tracekit
