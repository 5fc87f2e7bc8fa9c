// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/shared_library.hpp"

#include <dlfcn.h>

#include "criu/base/error.hpp"

namespace criu {
namespace {

// Never unloads the library, because it may have registered functions that run when a process or thread ends.
constexpr int kFlags = RTLD_LOCAL | RTLD_NODELETE;

}  // namespace

SharedLibrary::SharedLibrary(std::string file, std::string_view package, Binding binding)
    : file_(std::move(file)),
      handle_(::dlopen(file_.c_str(), (binding == Binding::Now ? RTLD_NOW : RTLD_LAZY) | kFlags)) {
    if (handle_ != nullptr)
        return;
    Error error(0, fmt::format("load {}: {}", file_, ::dlerror()));
    if (!package.empty())
        error.addHint(fmt::format("install the package {}", package));
    throw error;
}

bool SharedLibrary::isInstalled(const char* file) noexcept {
    return ::dlopen(file, RTLD_LAZY | kFlags) != nullptr;
}

SharedLibrary::Symbol SharedLibrary::operator[](const char* name) const {
    void* const address = ::dlsym(handle_, name);
    if (address == nullptr)
        fail("{} lacks {}", file_, name);
    return Symbol(address);
}

SharedLibrary::Symbol SharedLibrary::find(const char* name) const noexcept {
    return Symbol(::dlsym(handle_, name));
}

}  // namespace criu
