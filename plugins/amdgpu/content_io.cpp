// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/content_io.hpp"

#include <unistd.h>

#include "criu/base/error.hpp"

namespace criu::amdgpu {

void writeContent(int file, std::span<const std::byte> data, std::uint64_t offset) {
    while (!data.empty()) {
        const ssize_t done = ::pwrite(file, data.data(), data.size(), static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR)
            continue;
        sys(done, "write the content of a GPU buffer");
        data = data.subspan(static_cast<std::size_t>(done));
        offset += static_cast<std::uint64_t>(done);
    }
}

void readContent(int file, std::span<std::byte> data, std::uint64_t offset) {
    while (!data.empty()) {
        const ssize_t done = ::pread(file, data.data(), data.size(), static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR)
            continue;
        if (sys(done, "read the content of a GPU buffer") == 0)
            fail("the image with the content of GPU buffers is cut short: nothing is at {:#x}", offset);
        data = data.subspan(static_cast<std::size_t>(done));
        offset += static_cast<std::uint64_t>(done);
    }
}

}  // namespace criu::amdgpu
