// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/rescue.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/base/log.hpp"
#include "criu/base/names.hpp"
#include "criu/engine/journal_reverter.hpp"
#include "criu/kernel/names/created_name.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/namespaces/net/moved_device.hpp"

namespace criu::engine {
namespace {

constexpr const char* kFolder = "journals";
constexpr const char* kFile = "journal";
constexpr const char* kLockFile = "rescue.lock";

std::string ownPidNamespace() {
    const UniqueFd own = kernel::openOwnNamespace(kernel::NamespaceKind::Pid);
    return fmt::format("{}", kernel::namespaceInode(own.get()));
}

/// Inode number of the initial pid namespace (PROC_PID_INIT_INO in include/linux/proc_ns.h). All processes are visible
/// in this namespace.
constexpr std::string_view kInitialPidNamespace = "4026531836";

/// Returns true if no process is in the pid namespace with this inode number.
bool hasEnded(const std::string& pidNamespace) {
    const auto wanted = static_cast<std::uint32_t>(numberOf(pidNamespace));
    const kernel::ProcDir proc;
    for (const int pid : proc.processes()) {
        try {
            if (kernel::readNamespaceId(proc.open(pid), kernel::NamespaceKind::Pid) == wanted)
                return false;
        } catch (const Error& error) {
            if (error.code() != ENOENT && error.code() != ESRCH)
                return false;
        }
    }
    return true;
}

/// Returns true if `criu rescue` of the pid namespace `own` reverts journals of `pidNamespace`.
bool isRescuedIn(const std::string& own, const std::string& pidNamespace) {
    return pidNamespace == own || (own == kInitialPidNamespace && hasEnded(pidNamespace));
}

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

enum class Reverted { Done, Failed, OfOthers };

/// Functions that take a line for the user: about a reverted change, and about a failure.
struct Reports {
    std::function<void(const std::string&)> change;
    std::function<void(const std::string&)> failure;
};

/// Calls `work`, and reports a failure of it. Returns true if it didn't fail.
template <typename Work>
bool succeeds(const Reports& reports, const Work& work) {
    try {
        work();
        return true;
    } catch (const std::exception& error) {
        reports.failure(error.what());
        return false;
    }
}

/// Reverts one change of a dump. Lines of other kinds name no change.
void revertLine(const JournalReverter& reverter, const JournalLine& line, bool stillFrozen) {
    const auto has = [&](std::string_view kind, std::size_t fields) {
        return line.front() == kind && line.size() == fields;
    };
    if (has("link", 5))
        reverter.removeLink(line);
    else if (has("freeze", 4) && stillFrozen)
        reverter.thaw(line);
    else if (has("table", 3))
        reverter.removeTable(line);
    else if (has("injects", 5))
        reverter.unmapMemory(line);
}

/// Removes the network locks of lines of a kind.
bool removeLocks(const JournalReverter& reverter, const std::vector<JournalLine>& lines, std::string_view kind,
                 const Reports& reports) {
    bool done = true;
    for (std::size_t at = 0; at < lines.size(); ++at) {
        if (lines[at].front() != kind || lines[at].size() != 5)
            continue;
        std::size_t end = at + 1;
        while (end < lines.size() && lines[end].front() == "connection" && lines[end].size() == 3)
            ++end;
        done = succeeds(reports, [&] { reverter.removeLock(std::span(lines).subspan(at, end - at)); }) && done;
    }
    return done;
}

/// Reverts the changes of a dump, the latest first. `mayRun`: false if the pid namespace of the tree has ended.
Reverted revertDump(const std::vector<JournalLine>& lines, bool mayRun, const Reports& reports, Log& log) {
    std::optional<JournalProcess> root;
    if (mayRun)
        root = JournalProcess::of(lines.front().at(2), lines.front().at(3));
    if (root && contains(lines, "ends"))
        root->waitEnd();
    const JournalReverter reverter(root, reports.change, log);
    // A restore needs the links and the network lock of a dump that has ended its tree.
    if (contains(lines, "ends") && !reverter.treeRuns())
        return Reverted::Done;
    const bool stillFrozen = !contains(lines, "thawed");
    bool done = true;
    for (auto line = lines.rbegin(); line != lines.rend(); ++line)
        done = succeeds(reports, [&] { revertLine(reverter, *line, stillFrozen); }) && done;
    done = removeLocks(reverter, lines, "rules", reports) && done;
    done = succeeds(reports, [&] { reverter.endRepairs(lines); }) && done;
    done = succeeds(reports, [&] { reverter.restoreTerminal(lines); }) && done;
    return done ? Reverted::Done : Reverted::Failed;
}

/// Returns the last line of each name that criu has created and neither removed nor left, in the order of the journal.
std::vector<const JournalLine*> createdNames(const std::vector<JournalLine>& lines) {
    std::vector<const JournalLine*> names;
    // Directory and name are the last three fields.
    const auto isSame = [](const JournalLine& left, const JournalLine& right) {
        return std::equal(left.end() - 3, left.end(), right.end() - 3);
    };
    for (const JournalLine& line : lines) {
        const bool ends = line.front() == "done" && line.size() == 4;
        const bool begins =
            (line.front() == "creating" && line.size() == 5) || (line.front() == "name" && line.size() == 6);
        if (!ends && !begins)
            continue;
        std::erase_if(names, [&](const JournalLine* known) { return isSame(*known, line); });
        if (begins)
            names.push_back(&line);
    }
    return names;
}

/// Ends what criu does after the commit of a restore: freezes cgroups, and removes temporary links, the network lock
/// and the restorers.
bool completeRestore(const JournalReverter& reverter, const std::vector<JournalLine>& lines, const Reports& reports) {
    bool done = removeLocks(reverter, lines, "lock", reports);
    for (const JournalLine& line : lines)
        if (line.front() == "link" && line.size() == 5)
            done = succeeds(reports, [&] { reverter.removeLink(line); }) && done;
        else if (line.front() == "freezes" && line.size() == 3)
            done = succeeds(reports, [&] { reverter.freeze(line); }) && done;
        else if (line.front() == "restorers")
            done = succeeds(reports, [&] { reverter.unmapRestorers(line); }) && done;
    return succeeds(reports, [&] { reverter.endRepairs(lines); }) && done;
}

/// Removes cgroups and System V shared memory that criu has created for a tree that doesn't run.
bool removeGroupsAndSegments(const JournalReverter& reverter, const std::vector<JournalLine>& lines,
                             const Reports& reports) {
    const std::uint64_t begin = numberOf(lines.front().at(2));
    bool done = true;
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
        // A cgroup is recorded before and after its creation. The last line may be of a creation without end.
        const bool isGroup =
            line->front() == "group" && (line->size() == 5 || (line->size() == 3 && line == lines.rbegin()));
        if (isGroup)
            done = succeeds(reports, [&] { reverter.removeGroup(*line); }) && done;
        if (line->front() == "segment" && line->size() == 3)
            done = succeeds(reports, [&] { reverter.removeSegment(*line, begin); }) && done;
    }
    return done;
}

/// Ends a restore that was killed. If its tree runs, completes it. Otherwise removes what it has created. `folder`: see
/// revert(). `mayRun`: see revertDump().
Reverted revertRestore(const std::vector<JournalLine>& lines, int folder, bool mayRun, const Reports& reports,
                       Log& log) {
    const auto find = [&](std::string_view kind, std::size_t least) {
        return std::find_if(lines.begin(), lines.end(),
                            [&](const JournalLine& line) { return line.front() == kind && line.size() >= least; });
    };
    std::optional<JournalProcess> root;
    if (const auto line = find("root", 3); mayRun && line != lines.end()) {
        root = JournalProcess::of(line->at(1), line->at(2));
        root->waitEnd();
    }
    JournalReverter reverter(root, reports.change, log);
    bool done = true;
    if (const auto line = find("resuming", 2); mayRun && line != lines.end())
        done = succeeds(reports, [&] { (void)reverter.endHalfTree(*line); });
    for (const JournalLine& line : lines)
        if (line.front() == "moved" && !reverter.treeRuns())
            done = succeeds(reports, [&] { reverter.returnDevice(line, folder); }) && done;
    if (done)
        for (const JournalLine& line : lines)
            if (line.front() == "pin")
                done = succeeds(reports, [&] { namespaces::removePin(line, folder); }) && done;
    const std::vector<const JournalLine*> names = createdNames(lines);
    for (auto line = names.rbegin(); line != names.rend(); ++line)
        done = succeeds(reports,
                        [&] { reverter.removeName(**line, lines.front().at(3), numberOf(lines.front().at(2))); }) &&
               done;
    for (const JournalLine& line : lines) {
        if (line.front() == "table" && line.size() == 3 && !reverter.treeRuns())
            done = succeeds(reports, [&] { reverter.removeTable(line); }) && done;
        if (line.front() == "thaw" && line.size() == 3)
            done = succeeds(reports, [&] { reverter.freeze(line); }) && done;
    }
    done = removeLocks(reverter, lines, "rules", reports) && done;
    if (reverter.treeRuns())
        done = completeRestore(reverter, lines, reports) && done;
    else
        done = removeGroupsAndSegments(reverter, lines, reports) && done;
    return done ? Reverted::Done : Reverted::Failed;
}

/// Reverts the changes of one journal. `folder`: directory of the journal.
Reverted revert(int file, int folder, const Reports& reports, Log& log) {
    const std::vector<JournalLine> lines = parseJournal(readAll(file));
    const bool ofDump = !lines.empty() && lines.front().front() == "tree";
    const bool ofRestore = !lines.empty() && lines.front().front() == "restore";
    if ((!ofDump && !ofRestore) || lines.front().size() != 4)
        return Reverted::Done;  // criu was killed before it changed anything
    const std::string own = ownPidNamespace();
    const bool isOwn = lines.front()[1] == own;
    if (!isRescuedIn(own, lines.front()[1]))
        return Reverted::OfOthers;
    return ofDump ? revertDump(lines, isOwn, reports, log) : revertRestore(lines, folder, isOwn, reports, log);
}

/// Returns false if `criu rescue` of the pid namespace `own` leaves the journal in `directory`.
bool isWanted(int directory, const std::string& own) {
    constexpr std::size_t kMost = std::size_t{2} * PATH_MAX;  // the first line of a restore contains a path
    std::string begin(kMost, '\0');
    const UniqueFd file(::openat(directory, kFile, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const ssize_t size = file ? ::pread(file.get(), begin.data(), begin.size(), 0) : 0;
    begin.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    const std::vector<JournalLine> lines = parseJournal(begin);
    return lines.empty() || lines.front().size() < 2 || isRescuedIn(own, lines.front()[1]);
}

/// Waits until no other `criu rescue` of the pid namespace `own` examines these journals. While it does, their locks
/// are held, as if their commands were running. Each pid namespace has a byte of the lock file. Returns the lock.
UniqueFd lockJournals(int folder, const std::string& own) {
    constexpr std::chrono::seconds kLimit{30};
    constexpr std::chrono::milliseconds kPause{5};
    UniqueFd file = openLockFile(folder, kLockFile);
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = static_cast<off_t>(numberOf(own));
    range.l_len = 1;
    const auto end = std::chrono::steady_clock::now() + kLimit;
    while (::fcntl(file.get(), F_OFD_SETLK, &range) != 0) {
        if (errno != EAGAIN && errno != EACCES)
            failErrno("lock {} in the folder of journals", kLockFile);
        if (std::chrono::steady_clock::now() >= end)
            fail("another criu rescue has examined the journals for {} s: wait for its end", kLimit.count());
        std::this_thread::sleep_for(kPause);
    }
    return file;
}

/// Removes the directory of a journal, on which the caller holds the lock.
void removeJournal(int folder, const std::string& name, int directory) noexcept {
    struct stat status {};
    (void)removeFile(directory, kFile);
    if (::fstat(directory, &status) == 0)
        (void)removeIfSame(folder, name.c_str(), Inode::of(status));
}

std::uint64_t startTimeOf(HostPid pid) {
    kernel::ProcBuffer buffer;
    return kernel::readStat(kernel::ProcDir().open(pid.value), buffer).startTime;
}

/// Creates a journal with a first line, unless no directory is suitable. Throws Error.
void create(Log& log, std::initializer_list<std::string_view> firstLine) {
    const std::string name =
        fmt::format("{}-{}", ::getpid(), std::chrono::steady_clock::now().time_since_epoch().count());
    for (const std::string& directory : runtimeDirectories()) {
        RuntimeDirectory place = RuntimeDirectory::create(directory, kFolder, name);
        if (!place.lock)
            continue;
        UniqueFd file = createReplacing(place.lock.get(), kFile, O_RDWR | O_APPEND, S_IRUSR | S_IWUSR);
        log.journal().open(std::move(file), std::move(place.lock));
        log.journal().record(firstLine);
        return;
    }
}

}  // namespace

void beginJournal(HostPid root, Log& log) noexcept {
    try {
        create(log, {"tree", ownPidNamespace(), fmt::format("{}", root.value), fmt::format("{}", startTimeOf(root))});
    } catch (const std::exception& error) {
        log.debug("criu rescue can't revert changes of this dump: {}", error.what());
    }
}

RestoreJournal::RestoreJournal(const std::string& root, Log& log) noexcept : log_(log) {
    try {
        // ctime of a new file has the clock of the last timer tick, which is behind the clock of std::chrono.
        constexpr std::chrono::seconds kTick{1};
        const auto now = std::chrono::system_clock::now().time_since_epoch() - kTick;
        create(log, {"restore", ownPidNamespace(),
                     fmt::format("{}", std::chrono::duration_cast<std::chrono::seconds>(now).count()), root});
        kernel::recordCreatedNames(&log.journal());
    } catch (const std::exception& error) {
        log.debug("criu rescue can't complete this restore: {}", error.what());
    }
}

RestoreJournal::~RestoreJournal() {
    end();
}

void RestoreJournal::end() noexcept {
    kernel::recordCreatedNames(nullptr);
    endJournal(log_);
}

void recordRestoredRoot(HostPid root, Log& log) {
    if (log.journal().isOpen())
        log.journal().record({"root", fmt::format("{}", root.value), fmt::format("{}", startTimeOf(root))});
}

void recordResuming(const std::vector<HostPid>& processes, Log& log) {
    if (!log.journal().isOpen())
        return;
    JournalLine line{"resuming"};
    for (const HostPid process : processes)
        line.push_back(fmt::format("{}:{}", process.value, startTimeOf(process)));
    log.journal().record(line);
}

void recordRestorers(const std::vector<RestorerRange>& all, Log& log) noexcept {
    if (!log.journal().isOpen())
        return;
    try {
        JournalLine line{"restorers"};
        for (const RestorerRange& each : all)
            line.push_back(fmt::format("{}:{}:{}", each.process.value, each.start, each.size));
        log.journal().record(line);
    } catch (const std::exception& error) {
        log.debug("criu rescue can't unmap the restorers: {}", error.what());
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
        log.debug("The journal of this command is left: {}", error.what());
    }
    log.journal().close();
}

void revertJournal(Log& log) noexcept {
    if (!log.journal().isOpen())
        return;
    try {
        const Reports reports{[&log](const std::string& line) { log.info("Rescue: {}", line); },
                              [&log](const std::string& line) { log.error("{}", line); }};
        const Reverted result = revert(log.journal().file(), log.journal().directory(), reports, log);
        if (result == Reverted::Done)
            endJournal(log);
    } catch (const std::exception& error) {
        log.error("{}", error.what());
    }
    log.journal().close();
}

int rescue(std::string& answer, Log& log, const std::vector<std::string>& directories) {
    int status = 0;
    const auto say = [&answer](const std::string& line) { answer += line + '\n'; };
    const std::string own = ownPidNamespace();
    for (const std::string& directory : directories) {
        const UniqueFd folder = openRuntimeFolder(directory, kFolder);
        if (!folder)
            continue;
        const UniqueFd alone = lockJournals(folder.get(), own);
        const auto wanted = [&own](int each) { return isWanted(each, own); };
        for (RuntimeDirectory& place : RuntimeDirectory::unlocked(folder.get(), wanted)) {
            const UniqueFd file(::openat(place.lock.get(), kFile, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
            const Reverted result = file ? revert(file.get(), place.lock.get(), {say, say}, log) : Reverted::Done;
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
