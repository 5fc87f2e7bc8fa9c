// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/check/check_basics.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <compel/tracee.hpp>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/base/process_title.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/engine/required_caps.hpp"
#include "criu/kernel/mm/mapped_file.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/mm/process_vm.hpp"
#include "criu/kernel/proc/kcmp.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::engine {
namespace {

/// Child process that only sleeps, for system calls that need another process. The destructor kills the child. If criu
/// ends, the kernel kills the child.
class IdleChild {
public:
    IdleChild() {
        const pid_t parent = ::getpid();
        pid_ = sys(::fork(), "fork");
        if (pid_ != 0)
            return;
        setProcessTitle("stand by for checks");
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (::getppid() == parent)
            ::pause();
        ::_exit(1);  // criu has ended before the prctl(2) call
    }
    ~IdleChild() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    IdleChild(const IdleChild&) = delete;
    IdleChild& operator=(const IdleChild&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

private:
    pid_t pid_ = -1;
};

void procMount() {
    struct statfs info {};
    sys(::statfs("/proc", &info), "look at /proc");
    if (info.f_type != PROC_SUPER_MAGIC)
        throw Error(0, "/proc is not a proc file system").addHint("mount -t proc proc /proc");
    char link[32] = {};
    sys(::readlink("/proc/self", link, sizeof(link) - 1), "read the link /proc/self");
    if (std::to_string(::getpid()) != link)
        throw Error(
            0, fmt::format("/proc belongs to another pid namespace: we are {} there and {} here", link, ::getpid()))
            .addHint("mount -t proc proc /proc");
}

/// Checks that criu can open mapped files: by /proc/PID/map_files, or with few rights by other names.
void mapFiles() {
    const kernel::ProcPid self = kernel::ProcDir().open(::getpid());
    const UniqueFd file(sys(::memfd_create("criu-check", MFD_CLOEXEC), "make a memfd"));
    sys(::ftruncate(file.get(), static_cast<off_t>(machinePageSize())), "size a memfd");
    void* const at = ::mmap(nullptr, machinePageSize(), PROT_READ, MAP_SHARED, file.get(), 0);
    if (at == MAP_FAILED)
        failErrno("map a memfd");
    const Mapping mapping(at, machinePageSize());
    const auto start = reinterpret_cast<std::uintptr_t>(at);
    for (const kernel::Vma& vma : kernel::readMaps(self))
        if (vma.start == start)
            (void)kernel::openMappedFile(self, vma, O_RDONLY);
}

void children() {
    (void)kernel::ProcDir().open(::getpid()).readFile(fmt::format("task/{}/children", ::getpid()));
}

void pagemap() {
    const UniqueFd fd = kernel::ProcDir().open(::getpid()).open("pagemap", O_RDONLY);
    std::uint64_t entry = 0;
    const auto page = reinterpret_cast<std::uintptr_t>(&entry) / machinePageSize();
    const ssize_t count = ::pread(fd.get(), &entry, sizeof(entry), static_cast<off_t>(page * sizeof(entry)));
    if (sys(count, "read /proc/self/pagemap") != static_cast<ssize_t>(sizeof(entry)))
        fail("/proc/self/pagemap ends too early");
}

void timers() {
    (void)kernel::ProcDir().open(::getpid()).readFile("timers");
}

void eventDetails() {
    const UniqueFd fd(sys(::eventfd(77, EFD_CLOEXEC), "make an eventfd"));
    const std::string info = kernel::ProcDir().open(::getpid()).readFile(fmt::format("fdinfo/{}", fd.get()));
    if (info.find("eventfd-count:") == std::string::npos)
        fail("/proc/PID/fdinfo doesn't show an eventfd's count");
}

/// Checks that criu can create a child with a chosen pid. Chooses the pid of a child that criu has just reaped. This
/// pid is probably free, because the kernel assigns pids in ascending order.
void chosenPid() {
    requireChoosablePids();
    constexpr int attempts = 32;
    for (int i = 0; i < attempts; ++i) {
        pid_t wanted;
        {
            const IdleChild child;
            wanted = child.pid();
        }
        clone_args arguments{};
        arguments.exit_signal = SIGCHLD;
        arguments.set_tid = reinterpret_cast<std::uintptr_t>(&wanted);
        arguments.set_tid_size = 1;
        const auto made = static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof(arguments)));
        if (made == 0)
            ::_exit(0);
        if (made < 0 && errno == EEXIST)
            continue;
        sys(made, "make a process with a chosen pid (clone3)");
        ::waitpid(made, nullptr, 0);
        if (made != wanted)
            fail("clone3 made a process with pid {} where {} was asked for", made, wanted);
        return;
    }
    fail("no pid stays free long enough to try clone3 with it");
}

void tracing() {
    const IdleChild child;
    compel::Tracee tracee = compel::Tracee::seize(child.pid());
    tracee.interrupt();
    tracee.waitStop();
    (void)tracee.registers();
    (void)tracee.extendedState();
    (void)tracee.signalMask();
    (void)tracee.pendingSignals(compel::SignalQueue::Process);
    tracee.detach();
}

void remoteMemory() {
    const IdleChild child;
    std::uint32_t here = 0x600dda7a;
    const auto address = reinterpret_cast<std::uintptr_t>(&here);
    const std::uint32_t written = 0x12345678;
    kernel::writeMemory(child.pid(), address, std::as_bytes(std::span(&written, 1)));
    kernel::readMemory(child.pid(), address, std::as_writable_bytes(std::span(&here, 1)));
    if (here != written)
        fail("memory of another process doesn't keep what was written");
}

void memoryLayout() {
    unsigned size = 0;
    sys(::prctl(PR_SET_MM, PR_SET_MM_MAP_SIZE, &size, 0, 0), "ask for PR_SET_MM_MAP (CONFIG_CHECKPOINT_RESTORE)");
    if (size != sizeof(prctl_mm_map))
        fail("PR_SET_MM_MAP takes {} bytes, not {}", size, sizeof(prctl_mm_map));
}

void threadAddress() {
    int* address = nullptr;
    sys(::prctl(PR_GET_TID_ADDRESS, &address, 0, 0, 0), "ask for PR_GET_TID_ADDRESS (CONFIG_CHECKPOINT_RESTORE)");
}

void comparing() {
    const UniqueFd first(sys(::open("/dev/null", O_RDONLY | O_CLOEXEC), "open /dev/null"));
    const UniqueFd second(sys(::open("/dev/null", O_RDONLY | O_CLOEXEC), "open /dev/null"));
    const UniqueFd copy(sys(::fcntl(first.get(), F_DUPFD_CLOEXEC, 0), "duplicate a descriptor"));
    const pid_t self = ::getpid();
    if (!std::is_eq(kernel::kcmpFile(self, first.get(), self, copy.get())) ||
        std::is_eq(kernel::kcmpFile(self, first.get(), self, second.get())))
        fail("kcmp doesn't tell open files apart");
}

void foreignDescriptors() {
    const IdleChild child;
    (void)kernel::PidFd(child.pid()).getFd(STDERR_FILENO);
}

void memoryFiles() {
    const UniqueFd fd(sys(::memfd_create("criu-check", MFD_CLOEXEC), "make a memfd"));
}

constexpr BasicCheck kChecks[] = {
    {"the mount of /proc", procMount},
    {"/proc/PID/map_files", mapFiles},
    {"/proc/PID/task/TID/children", children},
    {"/proc/PID/pagemap", pagemap},
    {"/proc/PID/timers", timers},
    {"fdinfo of event descriptors", eventDetails},
    {"processes with a chosen pid", chosenPid},
    {"tracing", tracing},
    {"memory of other processes", remoteMemory},
    {"setting a process' memory layout", memoryLayout},
    {"clear_child_tid of threads", threadAddress},
    {"comparing kernel objects", comparing},
    {"descriptors of other processes", foreignDescriptors},
    {"memfd", memoryFiles},
};

}  // namespace

std::span<const BasicCheck> basicChecks() noexcept {
    return kChecks;
}

}  // namespace criu::engine
