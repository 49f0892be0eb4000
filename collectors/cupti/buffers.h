// The buffers that CUPTI fills: a bounded number, handed to the writer thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <vector>

namespace tracekit {

struct Filled {
  uint8_t* buffer;
  size_t valid_bytes;
};

class Buffers {
 public:
  static constexpr size_t kBytes = 1 << 20;

  explicit Buffers(size_t most) : most_(most) {}

  // Returns an empty buffer; null if all are filled and wait, so that CUPTI drops
  // records, and counts them, rather than take more memory.
  uint8_t* take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!empty_.empty()) {
      uint8_t* buffer = empty_.back();
      empty_.pop_back();
      return buffer;
    }
    if (made_ == most_) return nullptr;
    void* buffer = nullptr;
    if (posix_memalign(&buffer, 8, kBytes) != 0) return nullptr;
    ++made_;
    return static_cast<uint8_t*>(buffer);
  }

  void put_filled(Filled filled) {
    const std::lock_guard<std::mutex> lock(mutex_);
    filled_.push_back(filled);
  }

  // Returns the oldest filled buffer; false if there is none.
  bool next(Filled& filled) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (filled_.empty()) return false;
    filled = filled_.front();
    filled_.pop_front();
    return true;
  }

  void give_back(uint8_t* buffer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    empty_.push_back(buffer);
  }

 private:
  std::mutex mutex_;
  const size_t most_;
  size_t made_ = 0;
  std::vector<uint8_t*> empty_;
  std::deque<Filled> filled_;
};

}  // namespace tracekit
