#include "cupti_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace tracekit {
namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
// Where packages put it: beside the runtime, in a package of its own, in the toolkit.
constexpr const char* kPlaces[] = {"", "/../../cuda_cupti/lib", "/../extras/CUPTI/lib64"};

struct Loaded {
  std::string cupti;
  std::vector<std::string> runtime_folders;
};

int note_library(dl_phdr_info* loaded, size_t, void* found) {
  auto* known = static_cast<Loaded*>(found);
  const char* slash = std::strrchr(loaded->dlpi_name, '/');
  const char* file = slash ? slash + 1 : loaded->dlpi_name;
  if (std::strncmp(file, "libcupti.so", 11) == 0 && known->cupti.empty()) {
    known->cupti = loaded->dlpi_name;
  } else if (slash && std::strncmp(file, "libcudart.so", 12) == 0) {
    known->runtime_folders.emplace_back(loaded->dlpi_name, slash);
  }
  return 0;
}

// The copy that the process has loaded; else the one that came with its CUDA runtime,
// which a framework loads later; else the one that was named; else any.
void* open_library() {
  Loaded loaded;
  dl_iterate_phdr(note_library, &loaded);
  if (!loaded.cupti.empty()) {
    if (void* handle = dlopen(loaded.cupti.c_str(), RTLD_NOW | RTLD_NOLOAD)) return handle;
  }
  for (const std::string& folder : loaded.runtime_folders) {
    for (const char* place : kPlaces) {
      for (const char* name : kNames) {
        const std::string path = folder + place + "/" + name;
        if (void* handle = dlopen(path.c_str(), RTLD_NOW)) return handle;
      }
    }
  }
  const char* named = std::getenv("TRACEKIT_CUPTI_LIBRARY");
  if (named != nullptr && *named != '\0') {
    if (void* handle = dlopen(named, RTLD_NOW)) return handle;
  }
  for (const char* name : kNames) {
    if (void* handle = dlopen(name, RTLD_NOW)) return handle;
  }
  return nullptr;
}

const CuptiLibrary* load() {
  static CuptiLibrary library;
  library.handle = open_library();
  if (library.handle == nullptr) return nullptr;
#define TRACEKIT_LOAD(name) \
  library.name =            \
      reinterpret_cast<decltype(library.name)>(dlsym(library.handle, #name));
  TRACEKIT_CUPTI_FUNCTIONS(TRACEKIT_LOAD)
  TRACEKIT_CUPTI_OPTIONAL(TRACEKIT_LOAD)
#define TRACEKIT_CHECK(name) \
  if (library.name == nullptr) return nullptr;
  TRACEKIT_CUPTI_FUNCTIONS(TRACEKIT_CHECK)
  return &library;
}

}  // namespace

const CuptiLibrary* cupti_library() {
  static const CuptiLibrary* library = load();
  return library;
}

}  // namespace tracekit
