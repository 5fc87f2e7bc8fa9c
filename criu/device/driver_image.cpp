// SPDX-License-Identifier: GPL-2.0-only
#include "criu/device/driver_image.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <span>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/kernel/file_rights.hpp"

namespace criu::device {
namespace {

constexpr mode_t kMode = 0600;

}  // namespace

void writeDriverImage(const ImageDir& images, const std::string& name, const ProtobufCMessage& message) {
    const std::uint64_t size = encodedSize(message);
    std::vector<std::byte> bytes(kDriverImageStart + size);
    std::memcpy(bytes.data(), &size, sizeof(size));
    ::protobuf_c_message_pack(&message, reinterpret_cast<std::uint8_t*>(bytes.data() + kDriverImageStart));
    const auto rights = images.takeRights();
    const UniqueFd fd = createAnew(images.fd(), name, O_RDWR, kMode);
    for (std::span<const std::byte> rest = bytes; !rest.empty();)
        rest =
            rest.subspan(static_cast<std::size_t>(sys(::write(fd.get(), rest.data(), rest.size()), "write {}", name)));
}

std::optional<std::vector<std::byte>> readDriverImageBytes(const ImageDir& images, const std::string& name) {
    const auto rights = images.takeRights();
    const int links = images.isLimited() ? O_NOFOLLOW | O_NONBLOCK : 0;
    const UniqueFd fd(::openat(images.fd(), name.c_str(), O_RDONLY | O_CLOEXEC | links));
    if (!fd && errno == ENOENT)
        return std::nullopt;
    sys(fd.get(), "open {} in {}", name, images.name());
    struct stat status {};
    sys(::fstat(fd.get(), &status), "look at {}", name);
    std::uint64_t size = 0;
    if (::pread(fd.get(), &size, sizeof(size), 0) != sizeof(size))
        fail("{} is cut short", name);
    if (size > kMaxRecordSize || kDriverImageStart + size > static_cast<std::uint64_t>(status.st_size))
        fail("{} says that {} bytes follow, but has {} in all", name, size, status.st_size);
    std::vector<std::byte> bytes(size);
    if (sys(::pread(fd.get(), bytes.data(), size, static_cast<off_t>(kDriverImageStart)), "read {}", name) !=
        static_cast<ssize_t>(size))
        fail("{} can't be read to its end", name);
    return bytes;
}

}  // namespace criu::device
