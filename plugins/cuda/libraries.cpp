// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/libraries.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <set>

#include "criu/base/error.hpp"
#include "criu/base/hex.hpp"
#include "criu/base/log.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/files/build_id.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::cuda {
namespace {

/// First parts of the names of libraries that NVIDIA installs with the kernel driver. Toolkit libraries such as
/// libcudart may differ at the restore, because they use a stable interface of the driver.
constexpr std::array<std::string_view, 5> kNames = {"libcuda.so.", "libcudadebugger.so.", "libnvidia-",
                                                    "libnvcuvid.so.", "libnvoptix.so."};

std::string buildIdOf(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    return file ? toHex(files::readBuildId(file.get())) : std::string();
}

bool seesSameFiles(const kernel::ProcPid& process) {
    const kernel::ProcPid self = kernel::ProcDir().self();
    return process.readLink("root") == self.readLink("root") && process.readLink("ns/mnt") == self.readLink("ns/mnt");
}

}  // namespace

bool isDriverLibrary(std::string_view path) {
    if (!path.starts_with('/') || path.find(".so") == std::string_view::npos)
        return false;
    path.remove_prefix(path.rfind('/') + 1);
    return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) { return path.starts_with(name); });
}

std::set<Library> driverLibraries(HostPid pid) {
    const kernel::ProcPid process = kernel::ProcDir().open(pid.value);
    std::set<Library> found;
    std::set<std::string> seen;
    kernel::ProcBuffer buffer;
    const bool outside = seesSameFiles(process);
    for (const kernel::Vma& vma : kernel::parseMaps(process.read("maps", buffer))) {
        if (vma.deleted || !isDriverLibrary(vma.name) || !seen.insert(vma.name).second)
            continue;
        // Opens the mapped file through map_files, because its path may lead to another file now.
        std::vector<std::byte> id;
        try {
            id = files::readBuildId(
                process.open(fmt::format("map_files/{:x}-{:x}", vma.start, vma.end), O_RDONLY).get());
        } catch (const Error&) {
            continue;  // the process has unmapped the file, or criu may not open it
        }
        if (!id.empty())
            found.insert({vma.name, toHex(id), outside});
    }
    return found;
}

void compareLibraries(const std::vector<Library>& then, Log& log) {
    for (const Library& library : then) {
        const std::string now = buildIdOf(library.path);
        if (now == library.buildId)
            continue;
        if (!library.outside) {
            if (!now.empty())
                log.warn("cuda: a container has {} with build id {}, the one here has {}", library.path,
                         library.buildId, now);
            continue;
        }
        Error error(0, now.empty() ? fmt::format("processes have {} in memory (build id {}), which isn't here",
                                                 library.path, library.buildId)
                                   : fmt::format("processes have {} in memory with build id {}, but here it has {}",
                                                 library.path, library.buildId, now));
        error.addHint("restored processes execute the code of the driver's libraries: install the dumped versions");
        throw error;
    }
}

}  // namespace criu::cuda
