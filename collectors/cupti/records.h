// CUPTI's records to rows of the capture file.
#pragma once

#include <cupti.h>

#include <unordered_map>

#include "capture_file.h"
#include "cupti_library.h"

namespace tracekit {

class Records {
 public:
  Records(const CuptiLibrary& cupti, CaptureFile& file) : cupti_(cupti), file_(file) {}

  // Keep only the calls that launch, copy, allocate or synchronize.
  void keep_essential_calls_only() { essential_only_ = true; }

  // Adds the records of a buffer that CUPTI has completed.
  void add(uint8_t* buffer, size_t valid_bytes);

 private:
  void add(const CUpti_Activity* record);
  void add_call(const CUpti_ActivityAPI& record, CUpti_CallbackDomain domain);
  void add_marker(const CUpti_ActivityMarker2& record);
  void add_device(const CUpti_ActivityDevice5& record);

  struct Call {
    int64_t name;
    bool is_essential;
  };
  const Call& call(CUpti_CallbackDomain domain, CUpti_CallbackId id);

  const CuptiLibrary& cupti_;
  CaptureFile& file_;
  bool essential_only_ = false;
  std::unordered_map<uint64_t, Call> calls_;
};

// Whether a call launches, copies, allocates or synchronizes.
bool is_essential_call(const char* name);

}  // namespace tracekit
