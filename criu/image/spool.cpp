// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/spool.hpp"

#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/image/old_images.hpp"
#include "criu/kernel/mount_calls.hpp"

namespace criu {

ImageDir makeSpool(std::optional<std::uint64_t> limit, std::string name) {
    const ErrorContext context([] { return "a directory in memory for images on their way"; });
    kernel::FileSystemParts parts{"tmpfs", "", "mode=0700", 0};
    if (limit)
        parts.options += fmt::format(",size={}", *limit);
    return {kernel::mountFileSystem(parts), std::move(name)};
}

void emptySpool(const ImageDir& spool) noexcept {
    try {
        for (const std::string& name : namesIn(spool))
            if (name != "." && name != "..")
                (void)removeFile(spool.fd(), name.c_str());
    } catch (const std::exception&) {
        return;  // closing the spool's last descriptor frees the files, too
    }
}

}  // namespace criu
