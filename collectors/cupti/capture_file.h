// The file that a traced process writes: docs/formats/cupti.md describes it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tracekit {

// The kinds of blocks, in the order in which the file's header lists their columns.
enum Kind : uint16_t {
  kStrings = 0,
  kKernel,
  kMemcpy,
  kMemset,
  kGraphLaunch,
  kApiCall,
  kSync,
  kCudaEvent,
  kMemory,
  kMarker,
  kOverhead,
  kDevice,
  kContext,
  kClock,
  kDropped,
  kRefused,
  kKinds,
};

// Rows wait in memory and are written as blocks, column after column. One thread only.
class CaptureFile {
 public:
  // `facts` are lines `key value` about the process. Throws nothing: a file that
  // cannot be made swallows what it is given.
  CaptureFile(const std::string& path, const std::string& facts);

  // Appends a row; `values` are in the order of the columns.
  void add(Kind kind, std::initializer_list<int64_t> values);

  // Returns the number of a text, which is written once; 0 for none.
  int64_t text(const char* text);

  // Writes what waits, so that it is in the file whatever becomes of the process.
  void flush();
  void close();
  bool is_open() const { return descriptor_ >= 0; }

 private:
  void write_block(Kind kind);
  void write_all(const void* data, size_t bytes);

  int descriptor_ = -1;
  std::vector<int64_t> rows_[kKinds];
  std::unordered_map<std::string, uint32_t> texts_;
  std::unordered_map<const char*, std::pair<const std::string*, uint32_t>> seen_;
  std::string new_texts_;
  uint32_t new_text_count_ = 0;
};

}  // namespace tracekit
