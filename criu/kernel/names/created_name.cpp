// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/names/created_name.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"

namespace criu::kernel {
namespace {

/// Journal of this process' new names; null if criu doesn't record them.
Journal* recorder = nullptr;
/// Argument of the RecordedRoot; empty without one.
std::string recordedRoot;

std::string lastComponent(const std::string& path) {
    return path.substr(path.rfind('/') + 1);  // rfind() returns npos if there is no slash, and npos + 1 is 0
}

/// Describes a directory for the journal. Returns nothing if that fails, because the work of criu needs no journal.
/// `path`: absolute path of the directory; used only if the process has another root directory.
std::optional<FolderRecord> describe(int directory, const std::string& path) {
    if (recorder == nullptr || !recorder->isOpen())
        return std::nullopt;
    try {
        if (!recordedRoot.empty())
            return FolderRecord::of(directory, path == "/" ? recordedRoot : recordedRoot + path);
        return FolderRecord::of(directory);
    } catch (const Error&) {
        return std::nullopt;
    }
}

}  // namespace

void recordCreatedNames(Journal* journal) noexcept {
    recorder = journal;
}

RecordedRoot::RecordedRoot(int root) noexcept {
    if (const std::optional<FolderRecord> record = describe(root, {}))
        recordedRoot = record->path();
}

RecordedRoot::~RecordedRoot() {
    recordedRoot.clear();
}

CreatedName::CreatedName(const std::string& path, int base) : name_(lastComponent(path)) {
    static_assert(kCurrentDirectory == AT_FDCWD);
    const std::string parent = parentDirectory(path);
    directory_ = openDirectory(parent.empty() ? "." : parent, base);
    folder_ = describe(directory(), parent);
}

CreatedName CreatedName::below(int directory, const std::string& path) {
    CreatedName made;
    made.directory_ = openBelow(directory, parentDirectory(path), O_PATH | O_DIRECTORY);
    made.name_ = lastComponent(path);
    return made;
}

CreatedName CreatedName::beside(const std::string& name) const {
    CreatedName made = below(directory(), name);
    made.folder_ = folder_;
    return made;
}

CreatedName::CreatedName(CreatedName&& other) noexcept
    : directory_(std::move(other.directory_)),
      removal_(std::move(other.removal_)),
      name_(std::move(other.name_)),
      folder_(std::move(other.folder_)),
      inode_(other.inode_),
      created_(std::exchange(other.created_, false)) {}

CreatedName& CreatedName::operator=(CreatedName&& other) noexcept {
    if (this != &other) {
        remove();
        directory_ = std::move(other.directory_);
        removal_ = std::move(other.removal_);
        name_ = std::move(other.name_);
        folder_ = std::move(other.folder_);
        inode_ = other.inode_;
        created_ = std::exchange(other.created_, false);
    }
    return *this;
}

void CreatedName::announceFile(mode_t type) const noexcept {
    if (folder_)
        recorder->record({"creating", fmt::format("{:o}", type), folder_->identity(), folder_->path(), name_});
}

/// Records that criu has created the name, or is about to.
void CreatedName::recordName(const Inode& inode) const noexcept {
    if (folder_)
        recorder->record({"name", fmt::format("{}", inode.device), fmt::format("{}", inode.number), folder_->identity(),
                          folder_->path(), name_});
}

/// Records that criu has removed the name, or leaves it.
void CreatedName::recordEnd() const noexcept {
    if (folder_)
        recorder->record({"done", folder_->identity(), folder_->path(), name_});
}

/// Records the end of an announced creation if it has failed. Returns `result`, and leaves errno unchanged.
int CreatedName::recordFailure(int result) const noexcept {
    if (result < 0) {
        const int code = errno;
        recordEnd();
        errno = code;
    }
    return result;
}

void CreatedName::announceLink(int file) const noexcept {
    struct stat status {};
    if (folder_ && ::fstat(file, &status) == 0)
        recordName(Inode::of(status));
}

UniqueFd CreatedName::createFile(int access) {
    announceFile(S_IFREG);
    UniqueFd file(
        sys(recordFailure(::openat(directory(), name(), access | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)),
            "create {}", name_));
    struct stat status {};
    sys(::fstat(file.get(), &status), "stat {}", name_);
    inode_ = Inode::of(status);
    created_ = true;
    recordName(inode_);
    return file;
}

UniqueFd CreatedName::createDirectory() {
    announceFile(S_IFDIR);
    sys(recordFailure(::mkdirat(directory(), name(), 0700)), "create directory {}", name_);
    return claim(S_IFDIR, 0);
}

UniqueFd CreatedName::createNode(mode_t type, dev_t device) {
    announceFile(type & S_IFMT);
    sys(recordFailure(::mknodat(directory(), name(), (type & S_IFMT) | 0600, device)), "create node {}", name_);
    return claim(type & S_IFMT, device);
}

UniqueFd CreatedName::createSymbolicLink(const std::string& target) {
    announceFile(S_IFLNK);
    sys(recordFailure(::symlinkat(target.c_str(), directory(), name())), "create symbolic link {}", name_);
    return claim(S_IFLNK, 0);
}

/// Opens the new file. Throws Error if another process has replaced the file. If the file belongs to criu's user and
/// has only one name, it is the created file.
UniqueFd CreatedName::claim(mode_t type, dev_t device) {
    UniqueFd made(sys(::openat(directory(), name(), O_PATH | O_NOFOLLOW | O_CLOEXEC), "open {}", name_));
    struct stat status {};
    sys(::fstat(made.get(), &status), "stat {}", name_);
    if ((status.st_mode & S_IFMT) != type || status.st_uid != ::geteuid() ||
        ((type == S_IFCHR || type == S_IFBLK) && status.st_rdev != device) || (type != S_IFDIR && status.st_nlink != 1))
        failWith(EEXIST, "create {}: another process has replaced it", name_);
    inode_ = Inode::of(status);
    created_ = true;
    recordName(inode_);
    return made;
}

int CreatedName::link(int file) noexcept {
    // Links the file by its path in /proc, because linkat(2) with AT_EMPTY_PATH needs CAP_DAC_READ_SEARCH.
    constexpr std::size_t kRoom = 32;
    char self[kRoom];
    ::snprintf(self, sizeof(self), "/proc/self/fd/%d", file);
    struct stat status {};
    if (::fstat(file, &status) != 0)
        return errno;
    recordName(Inode::of(status));
    if (recordFailure(::linkat(AT_FDCWD, self, directory(), name(), AT_SYMLINK_FOLLOW)) != 0)
        return errno;
    inode_ = Inode::of(status);
    created_ = true;
    // Records the inode of the new name, because a FUSE server may give each name of a file a different inode number
    // (libfuse without use_ino).
    struct stat made {};
    struct statfs system {};
    if (::fstatfs(file, &system) == 0 && system.f_type == FUSE_SUPER_MAGIC &&
        ::fstatat(directory(), name(), &made, AT_SYMLINK_NOFOLLOW) == 0 && made.st_dev == status.st_dev &&
        (made.st_mode & S_IFMT) == (status.st_mode & S_IFMT))
        recordName(inode_ = Inode::of(made));
    return 0;
}

void CreatedName::noteCreated() noexcept {
    struct stat there {};
    created_ = ::fstatat(directory(), name(), &there, AT_SYMLINK_NOFOLLOW) == 0;
    inode_ = Inode::of(there);
    if (created_)
        recordName(inode_);
}

void CreatedName::noteCreated(int file) noexcept {
    struct stat status {};
    created_ = ::fstat(file, &status) == 0;
    inode_ = Inode::of(status);
    if (created_)
        recordName(inode_);
}

int CreatedName::moveTo(CreatedName& to) noexcept {
    to.recordName(inode_);
    if (const int code = renameTo(to); code != 0) {
        to.recordEnd();
        return code;
    }
    to.inode_ = inode_;
    to.created_ = std::exchange(created_, false);
    recordEnd();
    return 0;
}

/// Renames the file to a free name. Returns 0 or the errno.
int CreatedName::renameTo(const CreatedName& to) const noexcept {
    if (::renameat2(directory(), name(), to.directory(), to.name(), RENAME_NOREPLACE) != 0) {
        if (errno != EINVAL)
            return errno;
        // The file system doesn't support the flags of renameat2(2). Without them, another process can create the name
        // between the two calls below.
        struct stat there {};
        if (::fstatat(to.directory(), to.name(), &there, AT_SYMLINK_NOFOLLOW) == 0)
            return EEXIST;
        if (::renameat(directory(), name(), to.directory(), to.name()) != 0)
            return errno;
    }
    return 0;
}

void CreatedName::release() noexcept {
    if (std::exchange(created_, false))
        recordEnd();
}

UniqueFd CreatedName::open() const {
    UniqueFd file(sys(::openat(directory(), name(), O_PATH | O_NOFOLLOW | O_CLOEXEC), "open {}", name_));
    struct stat status {};
    sys(::fstat(file.get(), &status), "stat {}", name_);
    if (Inode::of(status) != inode_)
        failWith(EEXIST, "open {}: another process has replaced it", name_);
    return file;
}

int CreatedName::remove() noexcept {
    if (!created_)
        return 0;
    const int code = removeIfSame(removal_ ? removal_.get() : directory(), name(), inode_);
    created_ = code != 0 && code != ENOENT && code != EEXIST;
    if (!created_)
        recordEnd();
    return code;
}

void CreatedDirectories::make(const std::string& directory) {
    std::vector<std::string> missing;
    for (std::string at = directory; !at.empty() && at != "/" && !leadsToFile(at); at = parentDirectory(at))
        missing.push_back(at);
    for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
        const ErrorContext context([&] { return fmt::format("create directory {} for a deleted file", *at); });
        CreatedName name(*at);
        (void)name.createDirectory();
        made_.push_back(std::move(name));
    }
}

void CreatedDirectories::remove() noexcept {
    while (!made_.empty())
        made_.pop_back();
}

}  // namespace criu::kernel
