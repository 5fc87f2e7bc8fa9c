// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/bundle.hpp"

#include <sys/auxv.h>

#include <string_view>

namespace criu {

std::string bundleFolder() {
    // The bundle's launcher executes the dynamic linker by this name (scripts/packaging/bundle/launcher.cpp). The
    // kernel reports the path of the executed file (AT_EXECFN).
    constexpr std::string_view kLinker = "/lib/run/criu";
    const auto* const executed = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
    if (executed == nullptr || ::getauxval(AT_SECURE) != 0)
        return {};
    std::string_view path = executed;
    if (!path.starts_with('/') || !path.ends_with(kLinker))
        return {};
    path.remove_suffix(kLinker.size());
    return std::string(path);
}

}  // namespace criu
