// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/mount_calls.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/kernel/namespace_visit.hpp"

namespace criu::kernel {
namespace {

constexpr std::uint64_t kNoSymlinkFollow = 256;  // MS_NOSYMFOLLOW
constexpr unsigned kEmptyPath = 0x1000;          // AT_EMPTY_PATH

constexpr unsigned kRecursive = 0x8000;  // AT_RECURSIVE

constexpr unsigned kStatxMountId = 0x1000;  // STATX_MNT_ID

/// Returns the error messages in the log of a file system context. The lines of the log are "e text", "w text" or "i
/// text".
std::string reasonOf(int context) {
    std::string reason;
    std::array<char, 1024> line{};
    for (;;) {
        const ssize_t length = ::read(context, line.data(), line.size());
        if (length <= 0)
            return reason;
        std::string_view text(line.data(), static_cast<std::size_t>(length));
        if (!text.starts_with("e "))
            continue;
        text.remove_prefix(2);
        while (text.ends_with('\n'))
            text.remove_suffix(1);
        reason += reason.empty() ? "" : "; ";
        reason += text;
    }
}

[[noreturn]] void failContext(int code, int context, const std::string& attempted) {
    const std::string reason = reasonOf(context);
    Error error(code, attempted);
    if (!reason.empty())
        error.addHint(reason);
    throw error;
}

void setOption(int context, std::string_view option, const std::string& type) {
    const std::size_t equals = option.find('=');
    const std::string key(option.substr(0, equals));
    const int result =
        equals == std::string_view::npos
            ? ::fsconfig(context, FSCONFIG_SET_FLAG, key.c_str(), nullptr, 0)
            : ::fsconfig(context, FSCONFIG_SET_STRING, key.c_str(), std::string(option.substr(equals + 1)).c_str(), 0);
    if (result != 0)
        failContext(errno, context, fmt::format("set option {} of a {}", option, type));
}

/// Parses and sets options separated by commas. A backslash escapes a comma within a value.
void setOptions(int context, std::string_view options, const std::string& type) {
    std::string option;
    const auto finish = [&] {
        if (!option.empty())
            setOption(context, option, type);
        option.clear();
    };
    for (std::size_t at = 0; at < options.size(); ++at) {
        if (options[at] == '\\' && at + 1 < options.size() && options[at + 1] == ',')
            option += options[++at];
        else if (options[at] == ',')
            finish();
        else
            option += options[at];
    }
    finish();
}

void setSuperFlags(int context, std::uint64_t flags, const std::string& type) {
    constexpr std::pair<std::uint64_t, const char*> kFlagNames[] = {
        {MS_RDONLY, "ro"}, {MS_SYNCHRONOUS, "sync"}, {MS_DIRSYNC, "dirsync"}, {MS_LAZYTIME, "lazytime"}};
    for (const auto& [flag, name] : kFlagNames)
        if ((flags & flag) != 0)
            setOption(context, name, type);
}

}  // namespace

UniqueFd cloneMount(int fd) {
    return UniqueFd(sys(::open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_NO_AUTOMOUNT | kEmptyPath),
                        "make another mount of fd {}", fd));
}

UniqueFd cloneMountBelow(int directory, const std::string& path) {
    const ErrorContext context([&] { return fmt::format("make another mount of {}", path); });
    return cloneMount(openBelow(directory, path, O_PATH).get());
}

UniqueFd cloneMountsBelow(int directory, const std::string& path) {
    const UniqueFd top = openBelow(directory, path, O_PATH);
    return UniqueFd(sys(
        ::open_tree(top.get(), "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_NO_AUTOMOUNT | AT_RECURSIVE | kEmptyPath),
        "make another mount of {} and all below", path));
}

UniqueFd cloneMountAt(const std::string& path) {
    return UniqueFd(sys(::open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_NO_AUTOMOUNT),
                        "make another mount of {}", path));
}

UniqueFd mountFileSystem(const FileSystemParts& parts) {
    const UniqueFd context(
        sys(::fsopen(parts.type.c_str(), FSOPEN_CLOEXEC), "make a file system of type {}", parts.type));
    if (!parts.source.empty() && ::fsconfig(context.get(), FSCONFIG_SET_STRING, "source", parts.source.c_str(), 0) != 0)
        failContext(errno, context.get(), fmt::format("set the source of a {} to {}", parts.type, parts.source));
    setSuperFlags(context.get(), parts.superFlags, parts.type);
    setOptions(context.get(), parts.options, parts.type);
    for (const auto& [option, fd] : parts.descriptors)
        if (::fsconfig(context.get(), FSCONFIG_SET_FD, option.c_str(), nullptr, fd) != 0)
            failContext(errno, context.get(), fmt::format("set option {} of a {} to a descriptor", option, parts.type));
    if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
        failContext(errno, context.get(), fmt::format("create a {} with options \"{}\"", parts.type, parts.options));
    const int mount = ::fsmount(context.get(), FSMOUNT_CLOEXEC, 0);
    if (mount < 0)
        failContext(errno, context.get(), fmt::format("mount a {}", parts.type));
    return UniqueFd(mount);
}

void makeFileSystemReadOnly(int mount) {
    const UniqueFd context(
        sys(::fspick(mount, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC), "change the file system of a mount"));
    setSuperFlags(context.get(), MS_RDONLY, "file system");
    if (::fsconfig(context.get(), FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr, 0) != 0)
        failContext(errno, context.get(), "make a file system read-only");
}

void attachMount(int mount, int place) {
    sys(::move_mount(mount, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH),
        "put a mount on what fd {} refers to", place);
}

void attachMountBelow(int mount, int directory, const std::string& path) {
    const ErrorContext context([&] { return fmt::format("put a mount on {}", path); });
    attachMount(mount, openBelow(directory, path, O_PATH).get());
}

void setMountFlags(int mount, std::uint64_t flags) {
    constexpr std::pair<std::uint64_t, std::uint64_t> kAttributes[] = {
        {MS_RDONLY, MOUNT_ATTR_RDONLY},         {MS_NOSUID, MOUNT_ATTR_NOSUID},
        {MS_NODEV, MOUNT_ATTR_NODEV},           {MS_NOEXEC, MOUNT_ATTR_NOEXEC},
        {MS_NODIRATIME, MOUNT_ATTR_NODIRATIME}, {kNoSymlinkFollow, MOUNT_ATTR_NOSYMFOLLOW},
    };
    mount_attr wanted{};
    wanted.attr_clr = MOUNT_ATTR__ATIME;
    for (const auto& [flag, attribute] : kAttributes)
        ((flags & flag) != 0 ? wanted.attr_set : wanted.attr_clr) |= attribute;
    if ((flags & MS_NOATIME) != 0)
        wanted.attr_set |= MOUNT_ATTR_NOATIME;
    else if ((flags & MS_RELATIME) == 0)
        wanted.attr_set |= MOUNT_ATTR_STRICTATIME;
    sys(::mount_setattr(mount, "", kEmptyPath, &wanted, sizeof(wanted)), "set flags {:#x} of a mount", flags);
}

bool canRestoreMountNamespaces() noexcept {
    // Calls move_mount(2) with invalid descriptors. A kernel that supports MOVE_MOUNT_SET_GROUP returns EBADF. Older
    // kernels return EINVAL or ENOSYS.
    return ::move_mount(-1, "", -1, "", MOVE_MOUNT_SET_GROUP | MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) !=
               0 &&
           errno == EBADF;
}

void setPropagation(int mount, std::uint64_t kind) {
    mount_attr wanted{};
    wanted.propagation = kind;
    sys(::mount_setattr(mount, "", kEmptyPath, &wanted, sizeof(wanted)), "set propagation {:#x} of a mount", kind);
}

void makePrivateBelow(int mount) {
    mount_attr wanted{};
    wanted.propagation = MS_PRIVATE;
    sys(::mount_setattr(mount, "", kEmptyPath | kRecursive, &wanted, sizeof(wanted)), "make mounts private");
}

void joinPropagation(int from, int to) {
    sys(::move_mount(from, "", to, "", MOVE_MOUNT_SET_GROUP | MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH),
        "have a mount share events with another");
}

std::optional<int> mountIdOf(int fd) {
    struct statx stat {};
    sys(::statx(fd, "", AT_EMPTY_PATH, kStatxMountId, &stat), "ask for the mount of fd {}", fd);
    if ((stat.stx_mask & kStatxMountId) == 0)
        return std::nullopt;
    return static_cast<int>(stat.stx_mnt_id);
}

bool isMountRoot(int fd) {
    struct statx stat {};
    sys(::statx(fd, "", AT_EMPTY_PATH, 0, &stat), "ask whether fd {} is the root of a mount", fd);
    return (stat.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

void runInMountNamespace(int target, const std::function<void()>& work) {
    runInThread([&] {
        sys(::unshare(CLONE_FS), "have a root directory of its own for a thread");
        sys(::setns(target, CLONE_NEWNS), "enter a mount namespace");
        work();
    });
}

}  // namespace criu::kernel
