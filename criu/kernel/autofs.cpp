// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/autofs.hpp"

#include <fcntl.h>
#include <linux/auto_fs.h>
#include <linux/ioctl.h>
#include <sys/ioctl.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/scan.hpp"

namespace criu::kernel {
namespace {

/// Argument of the ioctls of /dev/autofs: struct autofs_dev_ioctl. C++ can't compile <linux/auto_dev-ioctl.h>.
struct Order {
    std::uint32_t major = 1;
    std::uint32_t minor = 0;
    std::uint32_t size = sizeof(Order);
    std::int32_t root;
    union {
        std::uint64_t timeout;
        std::int32_t pipe;
    };

    explicit Order(int directory) : root(directory), timeout(0) {}
};
static_assert(sizeof(Order) == 24);

constexpr unsigned long kSetPipe = _IOWR(AUTOFS_IOCTL, 0x78, Order);  // AUTOFS_DEV_IOCTL_SETPIPEFD
constexpr unsigned long kCatatonic = _IOWR(AUTOFS_IOCTL, 0x79, Order);
constexpr unsigned long kTimeout = _IOWR(AUTOFS_IOCTL, 0x7a, Order);

/// Stores an option that has no value. Returns true if the option is known.
bool takeWord(std::string_view word, AutofsOptions& options) {
    if (word == "direct")
        options.type = AutofsType::Direct;
    else if (word == "indirect")
        options.type = AutofsType::Indirect;
    else if (word == "offset")
        options.type = AutofsType::Offset;
    else if (word == "strictexpire")
        options.strictExpire = true;
    else if (word == "ignore")
        options.ignored = true;
    else
        return false;
    return true;
}

bool takeNumber(std::string_view name, std::string_view text, AutofsOptions& options) {
    constexpr const char* kWhat = "option of an autofs";
    if (name == "fd")
        options.pipe = parseLoneNumber<int>(text, kWhat);
    else if (name == "pgrp")
        options.group = parseLoneNumber<pid_t>(text, kWhat);
    else if (name == "timeout")
        options.timeout = parseLoneNumber<std::uint64_t>(text, kWhat);
    else if (name == "minproto")
        options.minProtocol = parseLoneNumber<int>(text, kWhat);
    else if (name == "maxproto")
        options.maxProtocol = parseLoneNumber<int>(text, kWhat);
    else if (name == "uid")
        options.user = parseLoneNumber<uid_t>(text, kWhat);
    else if (name == "gid")
        options.owningGroup = parseLoneNumber<gid_t>(text, kWhat);
    else if (name == "pipe_ino" && text != "-1")
        options.pipeInode = parseLoneNumber<std::uint64_t>(text, kWhat);
    else
        return name == "pipe_ino";
    return true;
}

}  // namespace

AutofsOptions parseAutofsOptions(std::string_view text) {
    AutofsOptions options;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view option = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        const std::size_t equals = option.find('=');
        const bool known = equals == std::string_view::npos
                               ? takeWord(option, options)
                               : takeNumber(option.substr(0, equals), option.substr(equals + 1), options);
        if (!known)
            fail("an autofs has the unknown option {}", option);
    }
    return options;
}

UniqueFd AutofsControl::open() {
    return UniqueFd(sys(::open("/dev/autofs", O_RDONLY | O_CLOEXEC), "open /dev/autofs"));
}

void AutofsControl::setTimeout(int root, std::uint64_t seconds) const {
    Order order(root);
    order.timeout = seconds;
    sys(::ioctl(device_, kTimeout, &order), "set the timeout of an autofs to {} s", seconds);
}

void AutofsControl::makeCatatonic(int root) const {
    Order order(root);
    sys(::ioctl(device_, kCatatonic, &order), "make an autofs catatonic");
}

void AutofsControl::setPipe(int root, int pipe) const {
    Order order(root);
    order.pipe = pipe;
    sys(::ioctl(device_, kSetPipe, &order), "give an autofs its pipe");
}

}  // namespace criu::kernel
