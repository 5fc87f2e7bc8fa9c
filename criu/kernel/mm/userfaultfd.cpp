// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/mm/userfaultfd.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "criu/base/error.hpp"

namespace criu::kernel {
namespace {

// Constant that the headers of Debian 12 lack (<linux/userfaultfd.h>).
constexpr std::uint64_t kAsynchronousProtection = std::uint64_t{1} << 15;

}  // namespace

int uffdWpFlags() noexcept {
    return O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY;
}

bool enableUffdWpAsync(int userfaultfd) {
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = kAsynchronousProtection;
    if (::ioctl(userfaultfd, UFFDIO_API, &api) == 0)
        return true;
    if (errno != EINVAL)
        failErrno("switch on asynchronous write protection");
    return false;
}

int registerUffdWp(int userfaultfd, std::uint64_t start, std::uint64_t size) noexcept {
    uffdio_register area{};
    area.range = {start, size};
    area.mode = UFFDIO_REGISTER_MODE_WP;
    return ::ioctl(userfaultfd, UFFDIO_REGISTER, &area) == 0 ? 0 : errno;
}

int clearUffdWp(int userfaultfd, std::uint64_t start, std::uint64_t size) noexcept {
    uffdio_writeprotect change{};
    change.range = {start, size};
    change.mode = 0;
    int code = 0;
    do {
        code = ::ioctl(userfaultfd, UFFDIO_WRITEPROTECT, &change) == 0 ? 0 : errno;
    } while (code == EAGAIN);  // the kernel returns EAGAIN while another thread changes mappings
    return code;
}

void enableUffd(int userfaultfd) {
    uffdio_api api{};
    api.api = UFFD_API;
    sys(::ioctl(userfaultfd, UFFDIO_API, &api), "switch a userfaultfd on");
}

OtherUffd findOtherUffd(int userfaultfd, std::uint64_t start, std::uint64_t end) noexcept {
    uffdio_register area{};
    area.range = {start, end - start};
    area.mode = UFFDIO_REGISTER_MODE_MISSING;
    if (::ioctl(userfaultfd, UFFDIO_REGISTER, &area) == 0)
        return ::ioctl(userfaultfd, UFFDIO_UNREGISTER, &area.range) == 0 ? OtherUffd::None : OtherUffd::Unknown;
    if (errno == EBUSY)
        return OtherUffd::Found;
    // EINVAL and EPERM: the kernel has reached a mapping that no userfaultfd can have.
    return errno == EINVAL || errno == EPERM ? OtherUffd::None : OtherUffd::Unknown;
}

bool isUserfaultfd(int fd) {
    std::array<char, 64> target{};
    const std::string path = fmt::format("/proc/self/fd/{}", fd);
    const ssize_t size = sys(::readlink(path.c_str(), target.data(), target.size()), "look at fd {}", fd);
    return std::string_view(target.data(), static_cast<std::size_t>(size)) == "anon_inode:[userfaultfd]";
}

}  // namespace criu::kernel
