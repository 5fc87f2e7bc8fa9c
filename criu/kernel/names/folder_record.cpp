// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/names/folder_record.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <charconv>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/printable.hpp"
#include "criu/kernel/proc/mountinfo.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {
namespace {

/// struct file_handle with room for the longest handle.
struct Handle {
    Handle() noexcept { head().handle_bytes = MAX_HANDLE_SZ; }
    file_handle& head() noexcept { return *reinterpret_cast<file_handle*>(bytes); }
    char* data() noexcept { return bytes + sizeof(file_handle); }

    alignas(file_handle) char bytes[sizeof(file_handle) + MAX_HANDLE_SZ] = {};
};

/// Reads a number of the text up to `end`, and removes both from the text.
template <typename Number>
Number takeNumber(std::string_view& text, char end, int base) {
    Number number{};
    const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (code != std::errc() || stop == text.data() + text.size() || *stop != end)
        fail("the journal is damaged: {} names no directory", printable(text));
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + 1);
    return number;
}

bool leadsTo(const UniqueFd& directory, const Inode& inode) {
    struct stat status {};
    return directory && ::fstat(directory.get(), &status) == 0 && Inode::of(status) == inode;
}

}  // namespace

FolderRecord FolderRecord::of(int directory) {
    return of(directory, ProcDir().self().readLink(fmt::format("fd/{}", directory)));
}

FolderRecord FolderRecord::of(int directory, std::string path) {
    FolderRecord record;
    struct stat status {};
    sys(::fstat(directory, &status), "stat a directory");
    record.inode_ = Inode::of(status);
    record.path_ = std::move(path);
    Handle handle;
    int mount = 0;
    if (::name_to_handle_at(directory, "", &handle.head(), &mount, AT_EMPTY_PATH) == 0) {
        record.handleType_ = handle.head().handle_type;
        record.handle_.assign(handle.data(), handle.head().handle_bytes);
    }
    return record;
}

FolderRecord::FolderRecord(const std::string& identity, std::string path) : path_(std::move(path)) {
    std::string_view rest = identity;
    inode_.device = takeNumber<dev_t>(rest, ':', 10);
    inode_.number = takeNumber<ino_t>(rest, ':', 10);
    handleType_ = takeNumber<int>(rest, ':', 10);
    while (!rest.empty())
        handle_ += static_cast<char>(takeNumber<unsigned char>(rest, '.', 16));
    if (handle_.size() > MAX_HANDLE_SZ)
        fail("the journal is damaged: a file handle has {} bytes", handle_.size());
}

std::string FolderRecord::identity() const {
    std::string text = fmt::format("{}:{}:{}:", inode_.device, inode_.number, handleType_);
    for (const char byte : handle_)
        fmt::format_to(std::back_inserter(text), "{:x}.", static_cast<unsigned char>(byte));
    return text;
}

UniqueFd FolderRecord::open(const std::string& root) const {
    for (const std::string& prefix : {std::string(), root}) {
        try {
            if (UniqueFd found = openDirectory(prefix + path_); leadsTo(found, inode_))
                return found;
        } catch (const Error&) {
            continue;  // the path leads to nothing in this mount namespace
        }
    }
    return openByHandle();
}

UniqueFd FolderRecord::openByHandle() const {
    if (handle_.empty())
        return {};
    Handle handle;
    handle.head().handle_bytes = static_cast<unsigned>(handle_.size());
    handle.head().handle_type = handleType_;
    std::memcpy(handle.data(), handle_.data(), handle_.size());
    ProcBuffer buffer;
    const MountTable mounts = readMountInfo(ProcDir().self(), buffer);
    for (const MountInfo& mount : mounts.all()) {
        if (makedev(mount.devMajor, mount.devMinor) != inode_.device)
            continue;
        const UniqueFd place(::open(mount.mountPoint.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC));
        if (!place)
            continue;
        if (UniqueFd found(::open_by_handle_at(place.get(), &handle.head(), O_PATH | O_DIRECTORY | O_CLOEXEC));
            leadsTo(found, inode_))
            return found;
    }
    return {};
}

}  // namespace criu::kernel
