// SPDX-License-Identifier: GPL-2.0-only
#include "criu/device/driver_image.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <span>

#include "criu/base/error.hpp"
#include "criu/base/whole_io.hpp"

namespace criu::device {

void writeDriverImage(const ImageDir& images, const std::string& name, const ProtobufCMessage& message) {
    const std::uint64_t size = encodedSize(message);
    std::vector<std::byte> bytes(kDriverImageStart + size);
    std::memcpy(bytes.data(), &size, sizeof(size));
    ::protobuf_c_message_pack(&message, reinterpret_cast<std::uint8_t*>(bytes.data() + kDriverImageStart));
    UniqueFd fd = images.createNamed(name);
    for (std::span<const std::byte> rest = bytes; !rest.empty();)
        rest =
            rest.subspan(static_cast<std::size_t>(sys(::write(fd.get(), rest.data(), rest.size()), "write {}", name)));
    closeWritten(std::move(fd), name);
}

std::optional<std::vector<std::byte>> readDriverImageBytes(const ImageDir& images, const std::string& name) {
    const std::optional<UniqueFd> opened = images.openNamed(name, O_RDONLY);
    if (!opened)
        return std::nullopt;
    const UniqueFd& fd = *opened;
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
