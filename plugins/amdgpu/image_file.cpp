// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/image_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/kernel/created_name.hpp"
#include "criu/kernel/file_rights.hpp"

namespace criu::amdgpu {
namespace {

constexpr mode_t kMode = 0600;

UniqueFd create(const ImageDir& images, const std::string& name) {
    const auto rights = images.takeRights();
    return createAnew(images.fd(), name, O_RDWR, kMode);
}

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
    UniqueFd fd = create(images, name);
    writeAll(fd.get(), std::as_bytes(std::span(&size, 1)), name);
    return fd;
}

UniqueFd openContent(const ImageDir& images, const std::string& name, std::uint64_t size) {
    const auto rights = images.takeRights();
    const int links = images.isLimited() ? O_NOFOLLOW | O_NONBLOCK : 0;
    UniqueFd fd(
        sys(::openat(images.fd(), name.c_str(), O_RDONLY | O_CLOEXEC | links), "open {} in {}", name, images.name()));
    struct stat status {};
    sys(::fstat(fd.get(), &status), "look at {}", name);
    if (static_cast<std::uint64_t>(status.st_size) < kContentStart + size)
        fail("{} has {} bytes, {} are needed", name, status.st_size, kContentStart + size);
    return fd;
}

}  // namespace criu::amdgpu
