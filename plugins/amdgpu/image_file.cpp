// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/image_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "criu/base/error.hpp"
#include "criu/kernel/created_name.hpp"

namespace criu::amdgpu {
namespace {

constexpr mode_t kMode = 0600;

UniqueFd create(const ImageDir& images, const std::string& name) {
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

void writeImage(const ImageDir& images, const std::string& name, const ProtobufCMessage& message) {
    const std::uint64_t size = encodedSize(message);
    std::vector<std::byte> bytes(kContentStart + size);
    std::memcpy(bytes.data(), &size, sizeof(size));
    ::protobuf_c_message_pack(&message, reinterpret_cast<std::uint8_t*>(bytes.data() + kContentStart));
    writeAll(create(images, name).get(), bytes, name);
}

std::optional<std::vector<std::byte>> readImage(const ImageDir& images, const std::string& name) {
    const UniqueFd fd(::openat(images.fd(), name.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd && errno == ENOENT)
        return std::nullopt;
    sys(fd.get(), "open {} in {}", name, images.name());
    struct stat status {};
    sys(::fstat(fd.get(), &status), "look at {}", name);
    std::uint64_t size = 0;
    if (::pread(fd.get(), &size, sizeof(size), 0) != sizeof(size))
        fail("{} is cut short", name);
    if (size > kMaxRecordSize || kContentStart + size > static_cast<std::uint64_t>(status.st_size))
        fail("{} says that {} bytes follow, but has {} in all", name, size, status.st_size);
    std::vector<std::byte> bytes(size);
    if (sys(::pread(fd.get(), bytes.data(), size, static_cast<off_t>(kContentStart)), "read {}", name) !=
        static_cast<ssize_t>(size))
        fail("{} can't be read to its end", name);
    return bytes;
}

UniqueFd createContent(const ImageDir& images, const std::string& name, std::uint64_t size) {
    UniqueFd fd = create(images, name);
    writeAll(fd.get(), std::as_bytes(std::span(&size, 1)), name);
    return fd;
}

UniqueFd openContent(const ImageDir& images, const std::string& name, std::uint64_t size) {
    UniqueFd fd(sys(::openat(images.fd(), name.c_str(), O_RDONLY | O_CLOEXEC), "open {} in {}", name, images.name()));
    struct stat status {};
    sys(::fstat(fd.get(), &status), "look at {}", name);
    if (static_cast<std::uint64_t>(status.st_size) < kContentStart + size)
        fail("{} has {} bytes, {} are needed", name, status.st_size, kContentStart + size);
    return fd;
}

}  // namespace criu::amdgpu
