// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/open_fd.hpp"

#include "criu/base/error.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/file_rights.hpp"
#include "criu/kernel/mount_calls.hpp"

namespace criu::files {

std::string OpenFd::describe() const {
    if (inFlight)
        return fmt::format("{} in flight", link);
    if (fd < 0)
        return fmt::format("{} of pid {}", link, pid);
    return fmt::format("fd {} of pid {} ({})", fd, pid, link);
}

int OpenFd::mountId() const {
    return info.mountId ? *info.mountId : kernel::mountIdOf(copy.get()).value_or(-1);
}

FileCopy openContent(const OpenFd& file, const ImageDir& images) {
    const auto rights = file.isReadable() ? nullptr : images.takeRights();
    const std::string self = fmt::format("/proc/self/fd/{}", file.copy.get());
    UniqueFd opened(::open(self.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC));
    if (!opened && rights)
        failErrno("{} isn't open for reading, and its file can't be read by the client", file.describe());
    sys(opened.get(), "read {}", file.describe());
    return {std::move(opened), file.served};
}

}  // namespace criu::files
