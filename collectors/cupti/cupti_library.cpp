#include "cupti_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace tracekit {
namespace {

int note_cupti(dl_phdr_info* loaded, size_t, void* found) {
  const char* file = std::strrchr(loaded->dlpi_name, '/');
  file = file ? file + 1 : loaded->dlpi_name;
  if (std::strncmp(file, "libcupti.so", 11) != 0) return 0;
  *static_cast<std::string*>(found) = loaded->dlpi_name;
  return 1;
}

void* open_library() {
  std::string loaded;
  dl_iterate_phdr(note_cupti, &loaded);
  if (!loaded.empty()) {
    if (void* handle = dlopen(loaded.c_str(), RTLD_NOW | RTLD_NOLOAD)) return handle;
  }
  const char* named = std::getenv("TRACEKIT_CUPTI_LIBRARY");
  for (const char* name : {named, "libcupti.so.13", "libcupti.so.12", "libcupti.so"}) {
    if (name == nullptr || *name == '\0') continue;
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
