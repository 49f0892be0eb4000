#include "capture_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tracekit {
namespace {

constexpr char kMagic[8] = {'T', 'K', 'C', 'U', 'P', 'T', 'I', '1'};
constexpr uint32_t kBlock = 0x314b4c42;  // BLK1
constexpr size_t kRowsOfABlock = 8192;

// q: signed 64 bits, u: unsigned 32 bits, i: signed 32 bits; the wide ones come first,
// so that each column begins where its type may.
struct Layout {
  const char* name;
  const char* columns;
};

constexpr Layout kLayouts[kKinds] = {
    {"strings", ""},
    {"kernel",
     "start_ns:q end_ns:q graph_node_id:q local_bytes_total:q name:u correlation_id:u "
     "device:u context_id:u stream_id:u graph_id:u grid_x:i grid_y:i grid_z:i block_x:i "
     "block_y:i block_z:i cluster_x:u cluster_y:u cluster_z:u registers_per_thread:u "
     "static_shared_bytes:i dynamic_shared_bytes:i executed_shared_bytes:u "
     "local_bytes_per_thread:u launch_type:u"},
    {"memcpy",
     "start_ns:q end_ns:q bytes:q graph_node_id:q copy_count:q correlation_id:u device:u "
     "context_id:u stream_id:u graph_id:u copy_kind:u source_kind:u destination_kind:u "
     "source_device:i destination_device:i"},
    {"memset",
     "start_ns:q end_ns:q bytes:q graph_node_id:q correlation_id:u device:u context_id:u "
     "stream_id:u graph_id:u value:u memory_kind:u"},
    {"graph_launch",
     "start_ns:q end_ns:q correlation_id:u device:u context_id:u stream_id:u graph_id:u"},
    {"api_call",
     "start_ns:q end_ns:q name:u domain:u correlation_id:u thread:u return_value:u"},
    {"sync",
     "start_ns:q end_ns:q kind:u correlation_id:u context_id:u stream_id:u event_id:u"},
    {"cuda_event", "correlation_id:u context_id:u stream_id:u event_id:u"},
    {"memory",
     "time_ns:q address:q bytes:q operation:u memory_kind:u correlation_id:u device:u "
     "context_id:u stream_id:u"},
    {"marker", "time_ns:q id:u flags:u name:u domain:u object_kind:u thread:u"},
    {"overhead",
     "start_ns:q end_ns:q kind:u object_kind:u thread:u correlation_id:u"},
    {"device",
     "uuid_high:q uuid_low:q memory_bytes:q bandwidth_kb_s:q ordinal:u name:u "
     "capability_major:u capability_minor:u sm_count:u clock_khz:u l2_cache_bytes:u "
     "warp_size:u max_warps_per_sm:u max_blocks_per_sm:u max_threads_per_block:u "
     "registers_per_sm:u shared_bytes_per_sm:u"},
    {"context", "context_id:u device:u null_stream_id:u parent_context_id:u is_green:u"},
    {"clock", "cupti_ns:q utc_ns:q"},
    {"dropped", "records:q"},
    {"refused", "activity:u error:u"},
};

// The type of each column of a kind, in order.
std::string types_of(Kind kind) {
  std::string types;
  for (const char* at = kLayouts[kind].columns; *at; ++at) {
    if (*at == ':') types += at[1];
  }
  return types;
}

template <typename Value>
void append(std::string& to, Value value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void pad(std::string& text, char filler) {
  while (text.size() % 8) text += filler;
}

std::string header_of(const std::string& facts) {
  std::string text = facts;
  for (uint16_t kind = 1; kind < kKinds; ++kind) {
    text += "kind " + std::to_string(kind) + " " + kLayouts[kind].name + " " +
            kLayouts[kind].columns + "\n";
  }
  pad(text, '\n');
  std::string header(kMagic, sizeof kMagic);
  append(header, static_cast<uint64_t>(text.size()));
  return header + text;
}

std::string block_header(Kind kind, uint32_t rows, size_t bytes) {
  std::string header;
  append(header, kBlock);
  append(header, static_cast<uint16_t>(kind));
  append(header, static_cast<uint16_t>(0));
  append(header, rows);
  append(header, static_cast<uint32_t>(bytes));
  return header;
}

}  // namespace

CaptureFile::CaptureFile(const std::string& path, const std::string& facts) {
  // Never through a link, never over what is there.
  descriptor_ =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  const std::string header = header_of(facts);
  write_all(header.data(), header.size());
}

void CaptureFile::add(Kind kind, std::initializer_list<int64_t> values) {
  auto& rows = rows_[kind];
  rows.insert(rows.end(), values.begin(), values.end());
  if (rows.size() >= kRowsOfABlock * values.size()) write_block(kind);
}

int64_t CaptureFile::text(const char* text) {
  if (text == nullptr) return 0;
  // The names of kernels are long, and CUPTI gives the same pointer again and again;
  // that of a module that was unloaded may come back with another text.
  const auto seen = seen_.find(text);
  if (seen != seen_.end() && *seen->second.first == text) return seen->second.second;
  const auto [found, is_new] =
      texts_.try_emplace(text, static_cast<uint32_t>(texts_.size() + 1));
  if (is_new) {
    append(new_texts_, found->second);
    append(new_texts_, static_cast<uint32_t>(found->first.size()));
    new_texts_ += found->first;
    ++new_text_count_;
  }
  seen_[text] = {&found->first, found->second};
  return found->second;
}

void CaptureFile::flush() {
  for (uint16_t kind = 1; kind < kKinds; ++kind) write_block(static_cast<Kind>(kind));
}

void CaptureFile::close() {
  if (descriptor_ < 0) return;
  flush();
  ::close(descriptor_);
  descriptor_ = -1;
}

void CaptureFile::write_block(Kind kind) {
  if (rows_[kind].empty()) return;
  if (new_text_count_) {
    // Before the rows that refer to them.
    pad(new_texts_, '\0');
    const std::string texts =
        block_header(kStrings, new_text_count_, new_texts_.size()) + new_texts_;
    write_all(texts.data(), texts.size());
    new_texts_.clear();
    new_text_count_ = 0;
  }
  const std::string types = types_of(kind);
  const size_t width = types.size();
  const size_t rows = rows_[kind].size() / width;
  std::string payload;
  for (size_t column = 0; column < width; ++column) {
    for (size_t row = 0; row < rows; ++row) {
      const int64_t value = rows_[kind][row * width + column];
      if (types[column] == 'q') {
        append(payload, value);
      } else {
        append(payload, static_cast<uint32_t>(value));
      }
    }
  }
  pad(payload, '\0');
  rows_[kind].clear();
  const std::string block =
      block_header(kind, static_cast<uint32_t>(rows), payload.size()) + payload;
  write_all(block.data(), block.size());
}

void CaptureFile::write_all(const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes && descriptor_ >= 0) {
    const ssize_t written = ::write(descriptor_, at, bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      // The disk is full. Half a block is the end of the file for a reader.
      ::close(descriptor_);
      descriptor_ = -1;
      return;
    }
    at += written;
    bytes -= static_cast<size_t>(written);
  }
}

}  // namespace tracekit
