// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/mountinfo.hpp"

#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "criu/kernel/proc/scan.hpp"

namespace criu::kernel {

namespace {

/// Bytes that the kernel escapes in mountinfo.
constexpr std::string_view kEscaped = " \t\n\\#";

constexpr std::uint64_t kNoSymlinkFollowFlag = 256;  // MS_NOSYMFOLLOW, Linux 5.10

struct FlagName {
    std::string_view name;
    std::uint64_t bit;
};

constexpr std::array kFlags{
    FlagName{"ro", MS_RDONLY},
    FlagName{"nosuid", MS_NOSUID},
    FlagName{"nodev", MS_NODEV},
    FlagName{"noexec", MS_NOEXEC},
    FlagName{"noatime", MS_NOATIME},
    FlagName{"nodiratime", MS_NODIRATIME},
    FlagName{"relatime", MS_RELATIME},
    FlagName{"sync", MS_SYNCHRONOUS},
    FlagName{"dirsync", MS_DIRSYNC},
    FlagName{"mand", MS_MANDLOCK},
    FlagName{"lazytime", MS_LAZYTIME},
    FlagName{"strictatime", MS_STRICTATIME},
    FlagName{"nosymfollow", kNoSymlinkFollowFlag},
};

std::string decoded(std::string_view text) {
    return text.find('\\') == std::string_view::npos ? std::string(text) : decodeOctal(text, kEscaped);
}

/// Returns the text before the next blank, which may be empty, and skips the blank.
std::string_view field(Scanner& scan) {
    const std::string_view text = scan.until(' ');
    scan.need(' ', "more fields");
    return text;
}

void parseOptional(std::string_view text, MountInfo& mount) {
    Scanner scan(text);
    if (scan.skip("shared:"))
        scan.needNumber(mount.shared, "a peer group");
    else if (scan.skip("master:"))
        scan.needNumber(mount.master, "a peer group");
    else if (scan.skip("propagate_from:"))
        scan.needNumber(mount.propagateFrom, "a peer group");
    else if (text == "unbindable")
        mount.unbindable = true;
}

MountInfo parseLine(std::string_view line) {
    MountInfo mount;
    Scanner scan(line);
    scan.needNumber(mount.id, "mount id");
    scan.needNumber(mount.parentId, "parent mount id");
    scan.needNumber(mount.devMajor, "major device number");
    scan.need(':', "a colon");
    scan.needNumber(mount.devMinor, "minor device number");
    scan.need(' ', "more fields");
    mount.root = decoded(field(scan));
    mount.mountPoint = decoded(field(scan));
    mount.options = field(scan);
    mount.flags = mountFlags(mount.options);
    for (std::string_view optional = field(scan); optional != "-"; optional = field(scan))
        parseOptional(optional, mount);
    mount.fsType = decoded(field(scan));
    mount.source = decoded(field(scan));
    mount.superOptions = decoded(scan.rest());
    return mount;
}

}  // namespace

MountTable::MountTable(std::vector<MountInfo> mounts) : mounts_(std::move(mounts)), byId_(mounts_.size()) {
    std::iota(byId_.begin(), byId_.end(), 0U);
    std::sort(byId_.begin(), byId_.end(),
              [this](std::uint32_t one, std::uint32_t other) { return mounts_[one].id < mounts_[other].id; });
}

const MountInfo* MountTable::find(int mountId) const noexcept {
    const auto at = std::lower_bound(byId_.begin(), byId_.end(), mountId,
                                     [this](std::uint32_t index, int id) { return mounts_[index].id < id; });
    return at != byId_.end() && mounts_[*at].id == mountId ? &mounts_[*at] : nullptr;
}

std::vector<MountInfo> parseMountInfo(std::string_view text) {
    std::vector<MountInfo> mounts;
    Scanner lines(text);
    std::string_view line;
    const ErrorContext context([&] { return fmt::format("mount number {}", mounts.size() + 1); });
    while (lines.line(line))
        mounts.push_back(parseLine(line));
    return mounts;
}

MountTable readMountInfo(const ProcPid& task, ProcBuffer& buffer) {
    const ErrorContext context([&] { return task.path() + "/mountinfo"; });
    return MountTable(parseMountInfo(task.read("mountinfo", buffer)));
}

bool hasServer(std::string_view fsType) noexcept {
    const std::string_view type = fsType.substr(0, fsType.find('.'));
    return type == "fuse" || type == "fuseblk";
}

bool isRemoteFileSystem(std::string_view fsType) noexcept {
    constexpr std::string_view kTypes[] = {"virtiofs", "nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs", "lustre"};
    return hasServer(fsType) || std::find(std::begin(kTypes), std::end(kTypes), fsType) != std::end(kTypes);
}

bool anyMountIs(std::string_view mountInfo, bool (*wanted)(std::string_view) noexcept) noexcept {
    constexpr std::string_view kBeforeType = " - ";
    for (std::size_t at = 0; (at = mountInfo.find(kBeforeType, at)) != std::string_view::npos;) {
        at += kBeforeType.size();
        const std::string_view rest = mountInfo.substr(at);
        if (wanted(rest.substr(0, rest.find(' '))))
            return true;
    }
    return false;
}

std::uint64_t mountFlags(std::string_view options) noexcept {
    std::uint64_t flags = 0;
    Scanner scan(options);
    while (!scan.done()) {
        const std::string_view name = scan.until(',');
        scan.skip(',');
        for (const FlagName& flag : kFlags)
            if (flag.name == name)
                flags |= flag.bit;
    }
    return flags;
}

}  // namespace criu::kernel
