// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/file_servers.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/kernel/maps.hpp"
#include "criu/kernel/mountinfo.hpp"

namespace criu::engine {
namespace {

/// Of /dev/fuse, the kernel's list of devices.
constexpr unsigned kFuseMajor = 10;
constexpr unsigned kFuseMinor = 229;

struct Found {
    dev_t device = 0;
    bool isFuseDevice = false;
};

/// What a link of /proc/PID leads to. AT_STATX_DONT_SYNC has the kernel answer from what it knows (Linux 4.20 for
/// FUSE), and such links are followed without looking anything up.
std::optional<Found> lookAt(const kernel::ProcPid& process, const std::string& link) {
    struct statx status {};
    if (::statx(process.fd(), link.c_str(), AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &status) != 0)
        return std::nullopt;
    return Found{makedev(status.stx_dev_major, status.stx_dev_minor), S_ISCHR(status.stx_mode) &&
                                                                          status.stx_rdev_major == kFuseMajor &&
                                                                          status.stx_rdev_minor == kFuseMinor};
}

/// The mount namespaces of the tree, and which file systems in them have servers.
class Served {
public:
    explicit Served(FrozenTree& tree) {
        const std::uint64_t own = spaceOf(kernel::ProcDir().self());
        for (const auto& task : tree.tasks()) {
            if (!task->alive())
                continue;
            const std::uint64_t space = spaceOf(task->dir);
            if (!spaces_.insert(space).second)
                continue;
            // The text is looked at first: usually there is none in it.
            const std::string_view text = task->dir.read("mountinfo", buffer_);
            if (text.find(" - fuse") == std::string_view::npos)
                continue;
            for (const kernel::MountInfo& mount : kernel::parseMountInfo(text))
                if (kernel::hasServer(mount.fsType)) {
                    devices_.try_emplace(makedev(mount.devMajor, mount.devMinor),
                                         fmt::format("{} ({})", mount.mountPoint, mount.fsType));
                    if (space != own && !mountedInTree_)
                        mountedInTree_ = task->describe() + " has a FUSE file system mounted in its namespace";
                }
        }
    }

    [[nodiscard]] bool none() const noexcept { return devices_.empty(); }
    [[nodiscard]] bool has(dev_t device) const { return devices_.contains(device); }
    [[nodiscard]] std::set<dev_t> devices() const {
        std::set<dev_t> all;
        for (const auto& [device, place] : devices_)
            all.insert(device);
        return all;
    }
    [[nodiscard]] const std::string& nameOf(dev_t device) const { return devices_.at(device); }
    [[nodiscard]] const std::optional<std::string>& mountedInTree() const noexcept { return mountedInTree_; }

private:
    static std::uint64_t spaceOf(const kernel::ProcPid& process) {
        struct stat status {};
        return ::fstatat(process.fd(), "ns/mnt", &status, 0) == 0 ? status.st_ino : 0;
    }

    kernel::ProcBuffer buffer_;
    std::set<std::uint64_t> spaces_;
    std::map<dev_t, std::string> devices_;  ///< and where they are mounted
    std::optional<std::string> mountedInTree_;
};

/// What one process has to do with them.
struct Part {
    std::optional<std::string> use;     ///< what it has there
    std::optional<std::string> server;  ///< where it has /dev/fuse
};

/// `samples`: gets one file of each.
Part partOf(const FrozenTask& task, const Served& served, std::map<dev_t, UniqueFd>& samples) {
    Part part;
    const auto note = [&](const std::string& what, const std::string& link, dev_t device) {
        if (!served.has(device))
            return;
        if (!part.use)
            part.use = fmt::format("{} of {} is on {}", what, task.describe(), served.nameOf(device));
        if (UniqueFd& sample = samples[device]; !sample)
            sample = task.dir.open(link, O_PATH);
    };
    for (const int fd : task.dir.numbers("fd")) {
        const std::string link = fmt::format("fd/{}", fd);
        if (const auto found = lookAt(task.dir, link)) {
            note(fmt::format("fd {}", fd), link, found->device);
            if (found->isFuseDevice && !part.server)
                part.server = fmt::format("fd {} of {}", fd, task.describe());
        }
    }
    for (const char* const link : {"cwd", "root", "exe"})
        if (const auto found = lookAt(task.dir, link))
            note(link, link, found->device);
    for (const kernel::Vma& mapping : kernel::readMaps(task.dir))
        note(fmt::format("a mapping at {:#x}", mapping.start),
             fmt::format("map_files/{:x}-{:x}", mapping.start, mapping.end),
             makedev(mapping.devMajor, mapping.devMinor));
    return part;
}

/// Calls that ask a file system for something, or wait for a child of criu that may do so. While criu waits for
/// anything else (other programs, threads, stopped processes) it looks for a stop itself.
bool asksFileSystem(long call) {
    constexpr long kCalls[] = {
        SYS_fstat,
        SYS_newfstatat,
        SYS_statx,
        SYS_statfs,
        SYS_fstatfs,
        SYS_openat,
        SYS_openat2,
        SYS_close,
        SYS_pread64,
        SYS_readlinkat,
        SYS_getdents64,
        SYS_faccessat,
        SYS_faccessat2,
        SYS_getxattr,
        SYS_lgetxattr,
        SYS_lseek,
        SYS_name_to_handle_at,
        SYS_open_by_handle_at,
        SYS_process_vm_readv,
        SYS_wait4,
        SYS_waitid,
    };
    return std::find(std::begin(kCalls), std::end(kCalls), call) != std::end(kCalls);
}

/// A process that does nothing but have the same table of descriptors, until the calling thread ends. So that thread,
/// and its process, end without closing any.
void shareDescriptors() {
    const pid_t parent = ::getpid();
    if (sys(::syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0), "create a process that shares descriptors") != 0)
        return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (::getppid() == parent)
        ::pause();
    ::_exit(0);
}

}  // namespace

FileServers::FileServers(FrozenTree& tree) {
    const Served served(tree);
    if (served.none())
        return;
    std::optional<std::string> use = served.mountedInTree();
    std::optional<std::string> server;
    for (const auto& task : tree.tasks()) {
        if (!task->alive())
            continue;
        const Part part = partOf(*task, served, samples_);
        if (!use)
            use = part.use;
        if (!server)
            server = part.server;
    }
    used_ = use.has_value();
    devices_ = served.devices();
    if (use && server) {
        Error error(0,
                    fmt::format("{}, which can't answer while the tree stands still: its server may be in the tree ({} "
                                "is /dev/fuse)",
                                *use, *server));
        error.addHint(
            "end the server or unmount the file system before the dump, or have the server outside of the tree");
        throw error;
    }
}

void FileServers::requireAnswers() const {
    for (const auto& [device, sample] : samples_) {
        struct stat status {};
        struct statfs system {};
        sys(::fstat(sample.get(), &status), "look at a file of a FUSE file system");
        sys(::fstatfs(sample.get(), &system), "look at a FUSE file system");
    }
}

AnswerWatch::AnswerWatch(std::chrono::seconds patience, StopRequest& stop, Log& log, std::function<void()> undo)
    : patience_(patience),
      stop_(stop),
      log_(log),
      undo_(std::move(undo)),
      end_(sys(::eventfd(0, EFD_CLOEXEC), "make an event descriptor")) {
    shareDescriptors();
    thread_ = std::thread([this] { run(); });
}

AnswerWatch::~AnswerWatch() {
    const std::uint64_t one = 1;
    (void)!::write(end_.get(), &one, sizeof(one));
    thread_.join();
}

void AnswerWatch::run() noexcept {
    constexpr int kPause = 250;  // milliseconds
    constexpr std::chrono::seconds kAfterStop{2};
    using Clock = std::chrono::steady_clock;
    struct Wait {
        std::string call;  ///< its number and arguments
        Clock::time_point since;
    };
    std::map<int, Wait> waits;
    const pid_t self = ::gettid();
    try {
        const kernel::ProcPid process = kernel::ProcDir().self();
        pollfd end{end_.get(), POLLIN, 0};
        while (::poll(&end, 1, kPause) <= 0) {
            const bool stopping = stop_.requested();
            for (const int thread : process.numbers("task")) {
                if (thread == self)
                    continue;
                std::string call(process.tryReadFile(fmt::format("task/{}/syscall", thread)).value_or(""));
                Wait& wait = waits[thread];
                if (call != wait.call || call.starts_with("running")) {
                    wait = {std::move(call), Clock::now()};
                    continue;
                }
                const auto waited = Clock::now() - wait.since;
                const bool tooLong = stopping ? waited >= kAfterStop : patience_.count() > 0 && waited >= patience_;
                if (!tooLong || !asksFileSystem(std::strtol(wait.call.c_str(), nullptr, 10)))
                    continue;
                log_.error(
                    "a file system that the tree uses doesn't answer: the server of a FUSE file system has "
                    "stopped. The tree goes on");
                try {
                    undo_();
                } catch (const std::exception& error) {
                    log_.warn("not all is as it was before the dump: {}", error.what());
                }
                ::_exit(1);
            }
        }
    } catch (const std::exception& error) {
        log_.warn("Nobody watches whether file systems answer: {}", error.what());
    }
}

}  // namespace criu::engine
