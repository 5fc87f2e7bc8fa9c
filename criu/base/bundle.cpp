// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/bundle.hpp"

#include <limits.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <string_view>

namespace criu {
namespace {

std::string findBundle() {
    // The bundle's launcher executes lib/run/criu, a link to the dynamic linker
    // (scripts/packaging/bundle/launcher.cpp). For the kernel, the dynamic linker is the program of this process.
    // AT_EXECFN doesn't help: the dynamic linker overwrites it with argv[0].
    char buffer[PATH_MAX];
    const ssize_t length = ::readlink("/proc/self/exe", buffer, sizeof buffer);
    if (length <= 0 || static_cast<std::size_t>(length) == sizeof buffer || ::getauxval(AT_SECURE) != 0)
        return {};
    const std::string_view path(buffer, static_cast<std::size_t>(length));
    const std::size_t folder = path.rfind("/lib/ld-linux");
    if (folder == std::string_view::npos)
        return {};
    std::string found(path.substr(0, folder));
    return ::access((found + "/lib/run/criu").c_str(), X_OK) == 0 ? found : std::string();
}

}  // namespace

const std::string& bundleFolder() {
    static const std::string folder = findBundle();
    return folder;
}

}  // namespace criu
