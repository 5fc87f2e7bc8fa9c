// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/proc_ns.hpp"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "criu/kernel/proc/scan.hpp"

namespace criu::kernel {

namespace {

struct KindEntry {
    NamespaceKind kind;
    std::string_view name;
    int cloneFlag;
    bool perThread;  ///< true if the threads of a process may be in different namespaces of this kind
};

constexpr int kCloneNewTime = 0x00000080;  // <linux/sched.h>, not in glibc 2.36's <sched.h>

constexpr std::array<KindEntry, kNamespaceKinds> kKinds{{
    {NamespaceKind::Net, "net", CLONE_NEWNET, true},
    {NamespaceKind::Uts, "uts", CLONE_NEWUTS, true},
    {NamespaceKind::Ipc, "ipc", CLONE_NEWIPC, true},
    {NamespaceKind::Pid, "pid", CLONE_NEWPID, false},
    {NamespaceKind::User, "user", CLONE_NEWUSER, false},
    {NamespaceKind::Mount, "mnt", CLONE_NEWNS, true},
    {NamespaceKind::Cgroup, "cgroup", CLONE_NEWCGROUP, true},
    {NamespaceKind::Time, "time", kCloneNewTime, false},
}};

consteval bool kindsInOrder() {
    for (std::size_t at = 0; at < kNamespaceKinds; ++at)
        if (static_cast<std::size_t>(kKinds[at].kind) != at)
            return false;
    return true;
}
static_assert(kindsInOrder());

const KindEntry& entryOf(NamespaceKind kind) noexcept {
    return kKinds[static_cast<std::size_t>(kind)];
}

/// Returns the inode number of a namespace. `link`: path of the link below `directory`. `where`: name of the directory
/// for messages.
std::optional<std::uint32_t> readIdAt(int directory, const std::string& where, const std::string& link) {
    std::array<char, 64> target;
    // Reads the text of the link, because it contains the inode number. fstat(2) would need an open descriptor of the
    // namespace.
    const ssize_t length = ::readlinkat(directory, link.c_str(), target.data(), target.size());
    if (length < 0) {
        if (errno == ENOENT)
            return std::nullopt;
        failErrno("read link {}/{}", where, link);
    }
    const ErrorContext context([&] { return where + '/' + link; });
    return parseNamespaceLink({target.data(), static_cast<std::size_t>(length)});
}

std::optional<std::uint32_t> readId(const ProcPid& task, std::string_view name) {
    return readIdAt(task.fd(), task.path(), fmt::format("ns/{}", name));
}

}  // namespace

std::string_view namespaceName(NamespaceKind kind) noexcept {
    return entryOf(kind).name;
}

int namespaceCloneFlag(NamespaceKind kind) noexcept {
    return entryOf(kind).cloneFlag;
}

std::uint32_t parseNamespaceLink(std::string_view target) {
    Scanner scan(target);
    scan.until(':');
    scan.need(":[", "kind:[inode]");
    const auto inode = scan.needNumber<std::uint32_t>("an inode number");
    scan.need(']', "a closing bracket");
    return inode;
}

std::uint32_t namespaceInode(int fd) {
    struct stat status {};
    sys(::fstat(fd, &status), "look at a namespace");
    return static_cast<std::uint32_t>(status.st_ino);
}

std::optional<std::uint32_t> readNamespaceId(const ProcPid& task, NamespaceKind kind) {
    return readId(task, namespaceName(kind));
}

bool isWithinPidNamespace(const ProcPid& task, std::uint32_t inode) {
    for (UniqueFd at = task.open("ns/pid", O_RDONLY); at;) {
        struct stat status {};
        sys(::fstat(at.get(), &status), "look at a pid namespace");
        if (status.st_ino == inode)
            return true;
        at = UniqueFd(::ioctl(at.get(), NS_GET_PARENT));
        if (!at && errno != EPERM)  // EPERM: the parent namespace is above criu's pid namespace
            failErrno("ask for the pid namespace above");
    }
    return false;
}

NamespaceIds readNamespaceIds(const ProcPid& task) {
    return CachedNamespaceIds().all(task);
}

NamespaceIds readThreadNamespaceIds(const ProcPid& process, pid_t thread, const NamespaceIds& ofProcess) {
    // Opens the thread's link directory only once, because a process may have thousands of threads.
    const std::string name = fmt::format("task/{}/ns", thread);
    const std::string where = process.path() + '/' + name;
    const UniqueFd links = process.open(name, O_PATH | O_DIRECTORY);
    const auto read = [&](const std::string& link) { return readIdAt(links.get(), where, link); };
    NamespaceIds ids = ofProcess;
    for (const KindEntry& each : kKinds)
        if (each.perThread)
            ids.kinds[static_cast<std::size_t>(each.kind)] = read(std::string(each.name));
    ids.pidForChildren = read("pid_for_children");
    ids.timeForChildren = read("time_for_children");
    return ids;
}

NamespaceIds CachedNamespaceIds::all(const ProcPid& task) {
    for (std::size_t kind = 0; kind < kNamespaceKinds; ++kind)
        (void)of(task, static_cast<NamespaceKind>(kind));
    if (!askedForChildren_) {
        known_.pidForChildren = readId(task, "pid_for_children");
        known_.timeForChildren = readId(task, "time_for_children");
        askedForChildren_ = true;
    }
    return known_;
}

std::optional<std::uint32_t> CachedNamespaceIds::of(const ProcPid& task, NamespaceKind kind) {
    const auto index = static_cast<std::size_t>(kind);
    if (!asked_[index]) {
        known_.kinds[index] = readNamespaceId(task, kind);
        asked_[index] = true;
    }
    return known_.kinds[index];
}

}  // namespace criu::kernel
