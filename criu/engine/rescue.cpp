// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/rescue.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/base/log.hpp"
#include "criu/base/names.hpp"
#include "criu/base/printable.hpp"
#include "criu/cgroup/freezer.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/net/nftables.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/kernel/proc/status.hpp"

namespace criu::engine {
namespace {

constexpr const char* kFolder = "journals";
constexpr const char* kFile = "journal";

std::uint32_t ownNamespace(kernel::NamespaceKind kind) {
    return kernel::namespaceInode(kernel::openOwnNamespace(kind).get());
}

std::uint64_t numberIn(const std::string& field) {
    std::uint64_t number = 0;
    const char* const end = field.data() + field.size();
    if (field.empty() || std::from_chars(field.data(), end, number).ptr != end)
        fail("the journal is damaged: {} isn't a number", printable(field));
    return number;
}

/// Tree of a journal.
struct JournalTree {
    std::uint32_t pidNamespace = 0;
    pid_t root = 0;
    std::uint64_t startTime = 0;  ///< start time of the root; distinguishes it from a later process with the same pid

    /// Opens the root's directory in /proc. Returns nothing if the root has ended, or has a pending SIGKILL.
    [[nodiscard]] std::optional<kernel::ProcPid> openRunning() const {
        try {
            kernel::ProcPid process = kernel::ProcDir().open(root);
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

    /// Waits a moment for the end of the root. A process that has taken SIGKILL from its queue, and hasn't begun its
    /// exit, looks like a running process.
    void waitEnd() const {
        constexpr std::chrono::milliseconds kMoment{100};
        try {
            (void)kernel::PidFd(root).waitExit(kMoment);
        } catch (const Error&) {
            return;  // the root has ended
        }
    }
};

/// Reverts changes of one journal. Checks each object before, because the journal contains names, and a name may now
/// refer to another object.
class Reverter {
public:
    Reverter(const JournalTree& tree, std::function<void(const std::string&)> report)
        : running_(tree.openRunning()), report_(std::move(report)) {}

    [[nodiscard]] bool treeRuns() const noexcept { return running_.has_value(); }

    void removeLink(const JournalLine& line) {
        const Inode inode{numberIn(line.at(1)), numberIn(line.at(2))};
        const std::string& folder = line.at(3);
        const std::string& name = line.at(4);
        if (!name.starts_with("link_remap.") || name.find('/') != std::string::npos || !folder.starts_with('/'))
            fail("the journal is damaged: {} isn't a temporary link", printable(name));
        if (removeIn([&] { return openDirectory(folder); }, name, inode) ||
            (running_ && removeIn([&] { return openInRoot(folder); }, name, inode)))
            report_(fmt::format("removed the temporary link {}/{}", printable(folder), printable(name)));
    }

    void thaw(const JournalLine& line) {
        const UniqueFd group = tryOpen([&] { return openDirectory(line.at(3)); });
        struct stat status {};
        if (!group || ::fstat(group.get(), &status) != 0 ||
            Inode::of(status) != Inode{numberIn(line.at(1)), numberIn(line.at(2))})
            return;
        if (cgroup::Freezer::thawOther(group.get()))
            report_(fmt::format("thawed the cgroup {}", printable(line.at(3))));
    }

    void removeTable(const JournalLine& line) {
        const std::string& table = line.at(1);
        constexpr std::string_view kPrefix = "inet CRIU-";
        if (!table.starts_with(kPrefix) ||
            table.find_first_not_of("0123456789abcdefABCDEF-", kPrefix.size()) != std::string::npos)
            fail("the journal is damaged: {} isn't a table of criu", printable(table));
        if (!kernel::Nftables::available())
            return;
        const auto network = static_cast<std::uint32_t>(numberIn(line.at(2)));
        if (network == ownNamespace(kernel::NamespaceKind::Net))
            return removeOwnTable(table);
        if (!running_ || kernel::readNamespaceId(*running_, kernel::NamespaceKind::Net) != network)
            return;  // the rules have ended with their network namespace, or no process leads to it
        const UniqueFd target = running_->open("ns/net", O_RDONLY);
        kernel::runInThread([&] {
            const kernel::NamespaceVisit visit(target.get(), kernel::NamespaceKind::Net);
            removeOwnTable(table);
        });
    }

private:
    static UniqueFd tryOpen(const std::function<UniqueFd()>& open) {
        try {
            return open();
        } catch (const Error&) {
            return {};
        }
    }

    [[nodiscard]] UniqueFd openInRoot(const std::string& folder) const {
        const UniqueFd root = running_->open("root", O_PATH | O_DIRECTORY);
        return openBelow(root.get(), folder.substr(1), O_PATH | O_DIRECTORY | O_CLOEXEC);
    }

    static bool removeIn(const std::function<UniqueFd()>& open, const std::string& name, const Inode& inode) {
        const UniqueFd directory = tryOpen(open);
        return directory && removeIfSame(directory.get(), name.c_str(), inode) == 0;
    }

    void removeOwnTable(const std::string& table) const {
        kernel::Nftables nft;
        if (nft.run("list tables inet\n").find(table + '\n') == std::string::npos)
            return;
        nft.run(fmt::format("delete table {}\n", table));
        report_(fmt::format("removed the network lock \"{}\"", table));
    }

    std::optional<kernel::ProcPid> running_;
    std::function<void(const std::string&)> report_;
};

std::string readAll(int file) {
    constexpr std::size_t kMost = std::size_t{64} << 20;
    std::string text;
    char block[4096];
    ssize_t size;
    while ((size = ::pread(file, block, sizeof(block), static_cast<off_t>(text.size()))) > 0 && text.size() < kMost)
        text.append(block, static_cast<std::size_t>(size));
    if (size < 0)
        failErrno("read a journal");
    return text;
}

bool contains(const std::vector<JournalLine>& lines, std::string_view kind) {
    return std::any_of(lines.begin(), lines.end(), [&](const JournalLine& line) { return line.front() == kind; });
}

/// Reverts one change. Lines of other kinds name no change.
void revertLine(Reverter& reverter, const JournalLine& line, bool stillFrozen) {
    const auto has = [&](std::string_view kind, std::size_t fields) {
        return line.front() == kind && line.size() == fields;
    };
    if (has("link", 5))
        reverter.removeLink(line);
    else if (has("freeze", 4) && stillFrozen)
        reverter.thaw(line);
    else if (has("table", 3))
        reverter.removeTable(line);
}

enum class Reverted { Done, Failed, OfOthers };

/// Reverts the changes of one journal, the latest first. `report` and `warn` take one line each.
Reverted revert(int file, const std::function<void(const std::string&)>& report,
                const std::function<void(const std::string&)>& warn) {
    const std::vector<JournalLine> lines = parseJournal(readAll(file));
    if (lines.empty() || lines.front().front() != "tree" || lines.front().size() != 4)
        return Reverted::Done;  // criu was killed before it changed anything
    const JournalTree tree{static_cast<std::uint32_t>(numberIn(lines.front()[1])),
                           static_cast<pid_t>(numberIn(lines.front()[2])), numberIn(lines.front()[3])};
    if (tree.pidNamespace != ownNamespace(kernel::NamespaceKind::Pid))
        return Reverted::OfOthers;
    if (contains(lines, "ends"))
        tree.waitEnd();
    Reverter reverter(tree, report);
    // A restore needs the links and the network lock of a dump that has ended its tree.
    if (contains(lines, "ends") && !reverter.treeRuns())
        return Reverted::Done;
    const bool stillFrozen = !contains(lines, "thawed");
    Reverted result = Reverted::Done;
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
        try {
            revertLine(reverter, *line, stillFrozen);
        } catch (const std::exception& error) {
            result = Reverted::Failed;
            warn(error.what());
        }
    }
    return result;
}

/// Removes the directory of a journal, on which the caller holds the lock.
void removeJournal(int folder, const std::string& name, int directory) noexcept {
    struct stat status {};
    (void)removeFile(directory, kFile);
    if (::fstat(directory, &status) == 0)
        (void)removeIfSame(folder, name.c_str(), Inode::of(status));
}

}  // namespace

void beginJournal(HostPid root, Log& log) noexcept {
    try {
        kernel::ProcBuffer buffer;
        const kernel::TaskStat stat = kernel::readStat(kernel::ProcDir().open(root.value), buffer);
        const std::string name =
            fmt::format("{}-{}", ::getpid(), std::chrono::steady_clock::now().time_since_epoch().count());
        for (const std::string& directory : runtimeDirectories()) {
            RuntimeDirectory place = RuntimeDirectory::create(directory, kFolder, name);
            if (!place.lock)
                continue;
            UniqueFd file = createReplacing(place.lock.get(), kFile, O_RDWR | O_APPEND, S_IRUSR | S_IWUSR);
            log.journal().open(std::move(file), std::move(place.lock));
            log.journal().record({"tree", fmt::format("{}", ownNamespace(kernel::NamespaceKind::Pid)),
                                  fmt::format("{}", root.value), fmt::format("{}", stat.startTime)});
            return;
        }
    } catch (const std::exception& error) {
        log.debug("criu rescue can't revert changes of this dump: {}", error.what());
    }
}

void endJournal(Log& log) noexcept {
    if (!log.journal().isOpen())
        return;
    const int directory = log.journal().directory();
    const UniqueFd folder(::openat(directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    try {
        const std::string path = kernel::ProcDir().self().readLink(fmt::format("fd/{}", directory));
        removeJournal(folder.get(), path.substr(path.rfind('/') + 1), directory);
    } catch (const std::exception& error) {
        log.debug("The journal of this dump is left: {}", error.what());
    }
    log.journal().close();
}

void revertJournal(Log& log) noexcept {
    if (!log.journal().isOpen())
        return;
    try {
        const Reverted result = revert(
            log.journal().file(), [&log](const std::string& line) { log.info("Rescue: {}", line); },
            [&log](const std::string& line) { log.error("{}", line); });
        if (result == Reverted::Done)
            endJournal(log);
    } catch (const std::exception& error) {
        log.error("{}", error.what());
    }
    log.journal().close();
}

int rescue(std::string& answer, const std::vector<std::string>& directories) {
    int status = 0;
    const auto say = [&answer](const std::string& line) { answer += line + '\n'; };
    for (const std::string& directory : directories) {
        for (RuntimeDirectory& place : RuntimeDirectory::unlocked(directory, kFolder)) {
            const UniqueFd file(::openat(place.lock.get(), kFile, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
            const Reverted result = file ? revert(file.get(), say, say) : Reverted::Done;
            if (result == Reverted::Done)
                removeJournal(place.folder.get(), place.name, place.lock.get());
            if (result == Reverted::Failed)
                status = 1;
        }
    }
    if (answer.empty())
        answer = "Nothing to do\n";
    return status;
}

}  // namespace criu::engine
