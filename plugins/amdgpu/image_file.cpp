// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/image_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "criu/base/error.hpp"

namespace criu::amdgpu {
namespace {

void writeAll(int fd, std::span<const std::byte> bytes, const std::string& name) {
    while (!bytes.empty()) {
        const ssize_t done = sys(::write(fd, bytes.data(), bytes.size()), "write {}", name);
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
}

}  // namespace

std::string kfdImageName(FileId id) {
    return fmt::format("amdgpu-kfd-{}.img", id);
}
std::string renderImageName(FileId id) {
    return fmt::format("amdgpu-renderD-{}.img", id);
}
std::string dmabufImageName(FileId id) {
    return fmt::format("amdgpu-dmabuf_{}.img", id);
}
std::string pagesImageName(FileId id, std::uint32_t userGpuId) {
    return fmt::format("amdgpu-pages-{}-{:04x}.img", id, userGpuId);
}
std::string renderPagesImageName(FileId id, std::uint32_t minor, std::size_t index) {
    return fmt::format("amdgpu-drm-pages-{}-{}-{:04x}.img", id, minor, index);
}

UniqueFd createContent(const ImageDir& images, const std::string& name, std::uint64_t size) {
    UniqueFd fd = images.createNamed(name);
    writeAll(fd.get(), std::as_bytes(std::span(&size, 1)), name);
    return fd;
}

UniqueFd openContent(const ImageDir& images, const std::string& name, std::uint64_t size) {
    std::optional<UniqueFd> opened = images.openNamed(name, O_RDONLY);
    if (!opened)
        failWith(ENOENT, "open {} in {}", name, images.name());
    UniqueFd fd = std::move(*opened);
    struct stat status {};
    sys(::fstat(fd.get(), &status), "look at {}", name);
    if (static_cast<std::uint64_t>(status.st_size) < kContentStart + size)
        fail("{} has {} bytes, {} are needed", name, status.st_size, kContentStart + size);
    return fd;
}

}  // namespace criu::amdgpu
