// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/journal_reverter.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/printable.hpp"
#include "criu/cgroup/freezer.hpp"
#include "criu/cgroup/hierarchies.hpp"
#include "criu/image/text_rules.hpp"
#include "criu/kernel/names/folder_record.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/net/nftables.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/kernel/proc/tasks.hpp"
#include "criu/namespaces/net/moved_device.hpp"
#include "criu/sockets/network_lock.hpp"
#include "criu/sockets/tcp_repair.hpp"
#include "criu/tty/terminal_record.hpp"

namespace criu::engine {
namespace {

UniqueFd tryOpen(const std::function<UniqueFd()>& open) {
    try {
        return open();
    } catch (const Error&) {
        return {};
    }
}

bool removeIn(const std::function<UniqueFd()>& open, const std::string& name, const Inode& inode) {
    const UniqueFd directory = tryOpen(open);
    return directory && removeIfSame(directory.get(), name.c_str(), inode) == 0;
}

bool isFileName(const std::string& name) {
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

/// Returns true if criu may have created the file after it had recorded the type: a file of this user that has one
/// name and isn't older than the journal.
bool mayBeNew(const struct stat& status, std::uint64_t type, std::uint64_t begin) {
    return (status.st_mode & S_IFMT) == type && status.st_uid == ::geteuid() &&
           (S_ISDIR(status.st_mode) || status.st_nlink == 1) && status.st_ctim.tv_sec >= 0 &&
           static_cast<std::uint64_t>(status.st_ctim.tv_sec) >= begin;
}

std::uint64_t octalOf(const std::string& field) {
    std::uint64_t number = 0;
    const char* const end = field.data() + field.size();
    if (field.empty() || std::from_chars(field.data(), end, number, 8).ptr != end)
        fail("the journal is damaged: {} is no file type", printable(field));
    return number;
}

/// Adds a process and its descendants to `found`. Omits processes that end in the meantime.
void addTree(const kernel::ProcDir& proc, pid_t pid, std::vector<pid_t>& found) {
    found.push_back(pid);
    try {
        const kernel::ProcPid process = proc.open(pid);
        kernel::ProcBuffer buffer;
        for (const pid_t thread : kernel::readThreads(process))
            for (const pid_t child : kernel::readChildren(process, thread, buffer))
                if (std::find(found.begin(), found.end(), child) == found.end())
                    addTree(proc, child, found);
    } catch (const Error&) {
        return;
    }
}

}  // namespace

JournalProcess JournalProcess::of(const std::string& pid, const std::string& startTime) {
    return {static_cast<pid_t>(numberOf(pid)), numberOf(startTime)};
}

std::optional<kernel::ProcPid> JournalProcess::openRunning() const {
    try {
        kernel::ProcPid process = kernel::ProcDir().open(pid);
        kernel::ProcBuffer buffer;
        const kernel::TaskStat stat = kernel::readStat(process, buffer);
        const kernel::TaskStatus status = kernel::readStatus(process, buffer);
        constexpr std::uint32_t kExiting = 0x4;  // PF_EXITING
        constexpr std::uint64_t kKill = std::uint64_t{1} << (SIGKILL - 1);
        if (stat.startTime != startTime || (stat.flags & kExiting) != 0 ||
            ((status.pending | status.sharedPending) & kKill) != 0)
            return std::nullopt;
        return process;
    } catch (const Error& error) {
        if (error.code() != ENOENT && error.code() != ESRCH)
            throw;
        return std::nullopt;
    }
}

void JournalProcess::waitEnd() const {
    constexpr std::chrono::milliseconds kMoment{100};
    try {
        (void)kernel::PidFd(pid).waitExit(kMoment);
    } catch (const Error&) {
        return;  // the process has ended
    }
}

JournalReverter::JournalReverter(const std::optional<JournalProcess>& root, Report report, Log& log)
    : running_(root ? root->openRunning() : std::nullopt),
      root_(root ? root->pid : 0),
      report_(std::move(report)),
      log_(log) {}

void JournalReverter::removeLink(const JournalLine& line) const {
    const Inode inode{numberOf(line.at(1)), numberOf(line.at(2))};
    const std::string& folder = line.at(3);
    const std::string& name = line.at(4);
    if (!name.starts_with("link_remap.") || name.find('/') != std::string::npos || !folder.starts_with('/'))
        fail("the journal is damaged: {} isn't a temporary link", printable(name));
    if (removeIn([&] { return openDirectory(folder); }, name, inode) ||
        (running_ && removeIn([&] { return openInRoot(folder); }, name, inode)))
        report_(fmt::format("removed the temporary link {}/{}", printable(folder), printable(name)));
}

void JournalReverter::thaw(const JournalLine& line) const {
    const UniqueFd group = tryOpen([&] { return openDirectory(line.at(3)); });
    struct stat status {};
    if (!group || ::fstat(group.get(), &status) != 0 ||
        Inode::of(status) != Inode{numberOf(line.at(1)), numberOf(line.at(2))})
        return;
    if (cgroup::Freezer::thawOther(group.get()))
        report_(fmt::format("thawed the cgroup {}", printable(line.at(3))));
}

void JournalReverter::freeze(const JournalLine& line) const {
    const UniqueFd group = kernel::FolderRecord(line.at(1), line.at(2)).open({});
    if (group && cgroup::Freezer::freezeOther(group.get()))
        report_(fmt::format("froze the cgroup {}", printable(line.at(2))));
}

void JournalReverter::removeTable(const JournalLine& line) const {
    const std::string& table = line.at(1);
    constexpr std::string_view kPrefix = "inet CRIU-";
    if (!table.starts_with(kPrefix) ||
        table.find_first_not_of("0123456789abcdefABCDEF-", kPrefix.size()) != std::string::npos)
        fail("the journal is damaged: {} isn't a table of criu", printable(table));
    if (kernel::Nftables::available())
        (void)inNetwork(static_cast<std::uint32_t>(numberOf(line.at(2))), [&] { removeOwnTable(table); });
}

void JournalReverter::removeLock(std::span<const JournalLine> lines) const {
    if (inNetwork(static_cast<std::uint32_t>(numberOf(lines.front().at(1))),
                  [&] { sockets::NetworkLock::removeRecorded(lines, log_); }))
        report_("removed the network lock of the tree");
}

void JournalReverter::removeName(const JournalLine& line, const std::string& restoreRoot, std::uint64_t begin) const {
    const bool known = line.front() == "name";
    const std::size_t place = known ? 3 : 2;
    const std::string& name = line.at(place + 2);
    if (!isFileName(name))
        fail("the journal is damaged: {} isn't a file name", printable(name));
    const kernel::FolderRecord record(line.at(place), line.at(place + 1));
    const UniqueFd folder = record.open(restoreRoot);
    struct stat status {};
    if (!folder || ::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    const bool created = known ? Inode::of(status) == Inode{numberOf(line.at(1)), numberOf(line.at(2))}
                               : mayBeNew(status, octalOf(line.at(1)), begin);
    if (created && removeIfSame(folder.get(), name.c_str(), Inode::of(status)) == 0)
        report_(fmt::format("removed {}/{}", printable(record.path()), printable(name)));
}

void JournalReverter::removeGroup(const JournalLine& line) const {
    const std::string& controllers = line.at(1);
    const std::string& path = line.at(2);
    if (!isGroupPath(path))
        fail("the journal is damaged: {} is no path of a cgroup", printable(path));
    cgroup::Hierarchies hierarchies(std::nullopt);
    const int root = hierarchies.root(controllers);
    struct stat status {};
    if (::fstatat(root, cgroup::relative(path).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    constexpr std::size_t kWithInode = 5;
    const Inode inode =
        line.size() == kWithInode ? Inode{numberOf(line.at(3)), numberOf(line.at(4))} : Inode::of(status);
    const int code = cgroup::removeGroup(root, path, inode);
    if (code == 0)
        report_(fmt::format("removed {}", printable(cgroup::label(controllers, path))));
    else if (code != EEXIST && code != ENOENT)
        failWith(code, "remove {}", printable(cgroup::label(controllers, path)));
}

void JournalReverter::removeSegment(const JournalLine& line, std::uint64_t begin) const {
    const UniqueFd space = kernel::openOwnNamespace(kernel::NamespaceKind::Ipc);
    const auto id = static_cast<int>(numberOf(line.at(2)));
    shmid_ds status{};
    if (numberOf(line.at(1)) != kernel::namespaceInode(space.get()) || ::shmctl(id, IPC_STAT, &status) != 0 ||
        status.shm_ctime < 0 || static_cast<std::uint64_t>(status.shm_ctime) < begin)
        return;
    if (status.shm_nattch != 0)
        fail("System V shared memory {} of a killed restore is left: it is attached {} times", id, status.shm_nattch);
    sys(::shmctl(id, IPC_RMID, nullptr), "remove System V shared memory {}", id);
    report_(fmt::format("removed System V shared memory {}", id));
}

void JournalReverter::unmapMemory(const JournalLine& line) const {
    if (root_ != 0 && unmapInjection(line, end_))
        report_(fmt::format("unmapped memory of criu in process {}", numberOf(line.at(1))));
}

void JournalReverter::unmapRestorers(const JournalLine& line) const {
    unsigned unmapped = 0;
    for (std::size_t at = 1; at < line.size(); ++at) {
        const std::size_t first = std::min(line[at].find(':'), line[at].size());
        const std::size_t second = std::min(line[at].find(':', first + 1), line[at].size());
        if (second == line[at].size())
            fail("the journal is damaged: {} is no restorer", printable(line[at]));
        unmapped += unmapRestorer(static_cast<pid_t>(numberOf(line[at].substr(0, first))),
                                  numberOf(line[at].substr(first + 1, second - first - 1)),
                                  numberOf(line[at].substr(second + 1)), end_);
    }
    if (unmapped != 0)
        report_(fmt::format("unmapped memory of criu in {} processes", unmapped));
}

void JournalReverter::returnDevice(const JournalLine& line, int folder) const {
    if (namespaces::returnDevice(line, folder))
        report_(fmt::format("moved network device {} back", printable(line.at(5))));
}

void JournalReverter::endRepairs(const std::vector<JournalLine>& lines) const {
    if (!running_)
        return;
    const kernel::ChangedOptions options = kernel::recordedOptions(lines);
    std::vector<pid_t> tree;
    const kernel::ProcDir proc;
    addTree(proc, root_, tree);
    unsigned ended = 0;
    for (const pid_t pid : tree) {
        try {
            const kernel::PidFd process(pid);
            ended += sockets::endRepairs(process, proc.open(pid), options);
        } catch (const Error& error) {
            log_.debug("TCP sockets of process {}: {}", pid, error.what());
        }
    }
    if (ended != 0)
        report_(fmt::format("ended the repair mode of {} TCP sockets", ended));
}

void JournalReverter::restoreTerminal(const std::vector<JournalLine>& lines) const {
    const JournalLine* const line = tty::recordedTerminal(lines);
    if (line != nullptr && tty::restoreTerminal(*line))
        report_(fmt::format("restored the settings of /dev/pts/{}", numberOf(line->at(4))));
}

bool JournalReverter::endHalfTree(const JournalLine& line) {
    std::vector<kernel::PidFd> running;
    for (std::size_t at = 1; at < line.size(); ++at) {
        const std::size_t colon = std::min(line[at].find(':'), line[at].size());
        const JournalProcess process = JournalProcess::of(
            line[at].substr(0, colon), colon < line[at].size() ? line[at].substr(colon + 1) : std::string());
        try {
            kernel::PidFd held(process.pid);
            if (process.openRunning())
                running.push_back(std::move(held));
        } catch (const Error&) {
            continue;  // the process has ended
        }
    }
    if (running.size() + 1 == line.size())
        return false;
    for (const kernel::PidFd& process : running)
        (void)process.sendSignal(SIGKILL);
    if (!running.empty())
        report_(fmt::format("ended {} processes of a tree that was half restored", running.size()));
    running_.reset();
    return true;
}

UniqueFd JournalReverter::openInRoot(const std::string& folder) const {
    const UniqueFd root = running_->open("root", O_PATH | O_DIRECTORY);
    return openBelow(root.get(), folder.substr(1), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void JournalReverter::removeOwnTable(const std::string& table) const {
    kernel::Nftables nft;
    if (nft.run("list tables inet\n").find(table + '\n') == std::string::npos)
        return;
    nft.run(fmt::format("delete table {}\n", table));
    report_(fmt::format("removed the network lock \"{}\"", table));
}

bool JournalReverter::inNetwork(std::uint32_t network, const std::function<void()>& work) const {
    if (network == kernel::namespaceInode(kernel::openOwnNamespace(kernel::NamespaceKind::Net).get())) {
        work();
        return true;
    }
    // Without such a process, the rules have ended with their network namespace, or no process leads to it.
    if (!running_ || kernel::readNamespaceId(*running_, kernel::NamespaceKind::Net) != network)
        return false;
    const UniqueFd target = running_->open("ns/net", O_RDONLY);
    kernel::runInThread([&] {
        const kernel::NamespaceVisit visit(target.get(), kernel::NamespaceKind::Net);
        work();
    });
    return true;
}

}  // namespace criu::engine
