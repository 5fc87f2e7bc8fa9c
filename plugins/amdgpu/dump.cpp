// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/dump.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <compel/process.hpp>

#include <algorithm>

#include "criu/base/loss.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/model/options.hpp"
#include "plugins/amdgpu/context_search.hpp"
#include "plugins/amdgpu/driver/drm.hpp"
#include "plugins/amdgpu/dump_buffers.hpp"
#include "plugins/amdgpu/dump_contents.hpp"
#include "plugins/amdgpu/dump_images.hpp"
#include "plugins/amdgpu/mmap_ids.hpp"
#include "plugins/amdgpu/stopped_queues.hpp"

namespace criu::amdgpu {
namespace {

// First minor that DRM nodes of all types may have.
constexpr unsigned kFirstMixedMinor = 192;

constexpr int kUnpauseAttempts = 3;
constexpr useconds_t kUnpausePause = 20'000;  // time between attempts, in microseconds
constexpr int kCheckpointAttempts = 5;
// Number of the initial user namespace (PROC_USER_INIT_INO of Linux).
constexpr std::uint32_t kInitialUserNamespace = 0xeffffffd;

UniqueFd dumpedCopyOf(int fd) {
    return UniqueFd(sys(::fcntl(fd, F_DUPFD_CLOEXEC, 0), "copy descriptor {}", fd));
}

/// Raises RLIMIT_NOFILE to its hard limit: the dump keeps a descriptor for each buffer until it has written the
/// buffer's content.
void allowManyFiles() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

kernel::TaskStatus statusOf(HostPid pid) {
    kernel::ProcBuffer buffer;
    return kernel::readStatus(kernel::ProcDir().open(pid.value), buffer);
}

}  // namespace

AmdgpuDump::AmdgpuDump(Kernel& kernel, StoppedQueues& stopped, const device::Context& context,
                       std::function<std::uint64_t()> bufferLimit)
    : kernel_(kernel), stopped_(stopped), context_(context), bufferLimit_(std::move(bufferLimit)) {}

AmdgpuDump::~AmdgpuDump() {
    if (const std::exception_ptr failure = restartQueues()) {
        // The destructor only logs this failure, because the dump has already failed for another reason.
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& error) {
            context_.log.error("amdgpu: {}", error.what());
        }
    }
}

bool AmdgpuDump::isKfd(const struct stat& status) {
    if (!S_ISCHR(status.st_mode) || status.st_rdev == 0)
        return false;
    if (!kfd_)
        kfd_ = kernel_.device(kKfdPath);
    return status.st_rdev == *kfd_;
}

std::uint32_t AmdgpuDump::renderMinor(const struct stat& status) {
    const unsigned minor = gnu_dev_minor(status.st_rdev);
    if (!S_ISCHR(status.st_mode) || gnu_dev_major(status.st_rdev) != kDrmMajor || minor < kFirstRenderMinor ||
        minor > kLastRenderMinor)
        return 0;
    const auto [at, fresh] = ours_.try_emplace(status.st_rdev, false);
    if (fresh && (minor < kFirstMixedMinor || kernel_.device(renderPath(minor)) == status.st_rdev)) {
        // Another driver may own the render node.
        const UniqueFd node = kernel_.open(renderPath(minor), O_RDWR);
        at->second = Drm(kernel_, node.get()).driver() == "amdgpu";
    }
    return at->second ? minor : 0;
}

bool AmdgpuDump::claims(const device::MappedDevice& mapped) {
    const std::uint32_t minor = renderMinor(mapped.stat);
    if (minor == 0 && !isKfd(mapped.stat))
        return false;
    tree_.mapped.push_back({mapped.pid, minor, mapped.vma.start, mapped.vma.pgoff});
    return true;
}

bool AmdgpuDump::claims(const files::OpenFd& file) {
    constexpr std::uint32_t kPathOnly = O_PATH;
    if ((file.info.flags & kPathOnly) != 0)
        return false;
    return isKfd(file.stat) || renderMinor(file.stat) != 0 ||
           (file.link.starts_with("/dmabuf:") && kernel_.device(kKfdPath) != 0);
}

void AmdgpuDump::use() {
    auto& names = context_.inventory.names;
    if (std::find(names.begin(), names.end(), kInventoryName) == names.end())
        names.emplace_back(kInventoryName);
}

bool AmdgpuDump::dump(const files::OpenFd& file, FileId id) {
    use();
    allowManyFiles();  // a descriptor for each buffer
    if (isKfd(file.stat))
        dumpKfd(file, id);
    else if (const std::uint32_t minor = renderMinor(file.stat); minor != 0)
        dumpRender(file, id, minor);
    else
        tree_.dmabufs.push_back({id, dumpedCopyOf(file.copy.get()), file.describe()});
    return true;
}

void AmdgpuDump::dumpRender(const files::OpenFd& file, FileId id, std::uint32_t minor) {
    RenderNode node;
    node.id = id;
    node.pid = file.pid;
    node.minor = minor;
    node.fd = dumpedCopyOf(file.copy.get());
    if (listsContexts(minor)) {
        const ErrorContext context([&] { return fmt::format("{} of {}", renderPath(minor), nameOf(file.pid)); });
        // The dump of descriptors comes before that of memory, which the GPU may write until submissions are complete.
        node.client = readClient(Drm(kernel_, node.fd.get()), [this] { context_.stop.throwIfRequested(); });
        if (!node.client.empty() && context_.options.compat)
            fail("CRIU 4.2 restores no contexts or synchronization objects, and --compat was given");
        requireOneOwner(node);
    }
    tree_.nodes.push_back(std::move(node));
}

/// Returns true if the kernel lists contexts. The call is the same for all GPUs, so criu tries one GPU only.
bool AmdgpuDump::listsContexts(std::uint32_t minor) {
    if (!listsContexts_) {
        const UniqueFd own = kernel_.open(renderPath(minor), O_RDWR);
        listsContexts_ = Drm(kernel_, own.get()).canListContexts();
    }
    return *listsContexts_;
}

/// Throws Error if two files have synchronization objects, because the kernel doesn't show which objects they share.
void AmdgpuDump::requireOneOwner(const RenderNode& node) const {
    if (node.client.objects.empty())
        return;
    context_.log.loss(
        Loss::Sharing,

        "amdgpu: if {} shares synchronization objects with programs outside of the tree, it doesn't any more "
        "after a restore",
        nameOf(node.pid));
    for (const RenderNode& other : tree_.nodes) {
        if (other.client.objects.empty())
            continue;
        Error error(0, fmt::format("this file and {} of {} have synchronization objects, and may share them",
                                   renderPath(other.minor), nameOf(other.pid)));
        error.addHint("dump programs with OpenGL or Vulkan one by one");
        throw error;
    }
}

void AmdgpuDump::dumpKfd(const files::OpenFd& file, FileId id) {
    // Through a descriptor from another process, the driver accepts only checkpoint calls. So criu opens its own
    // descriptor for other calls.
    const UniqueFd own = kernel_.open(kKfdPath, O_RDONLY);
    Kfd(kernel_, own.get()).requireCriu();
    const std::uint32_t version = Kfd(kernel_, own.get()).minorVersion();
    for (DumpedProcess& known : tree_.processes)
        if (known.pid == file.pid) {
            tree_.further.push_back({id, file.pid, known.id});
            refuseContext(known, file);
            return;
        }
    // RESTORE needs checkpoint capabilities in the initial user namespace (kfd_chardev.c). But a restored process is
    // already in its own user namespace when it opens device files.
    const auto users = kernel::readNamespaceId(kernel::ProcDir().open(file.pid.value), kernel::NamespaceKind::User);
    if (users && *users != kInitialUserNamespace)
        fail("{} is in a user namespace of its own, in which the compute driver restores no process", nameOf(file.pid));
    DumpedProcess process;
    process.id = id;
    process.pid = file.pid;
    process.version = version;
    process.kfd = dumpedCopyOf(file.copy.get());
    // The driver counts stops. If an earlier dump has left one, the queues would remain stopped after this dump starts
    // them once.
    if (Kfd(kernel_, process.kfd.get()).unpauseLeftOver())
        context_.log.warn("amdgpu: process {}: an earlier dump had left its queues stopped", file.pid);
    // From here on, the destructor starts the queues. If this process is killed, the guardian starts them.
    stopped_.add(file.pid, file.fd);
    DumpedProcess& added = tree_.processes.emplace_back(std::move(process));
    stopAndRead(added, Kfd(kernel_, added.kfd.get()));
    context_.log.debug("amdgpu: process {}: {} GPUs, {} buffers, {} objects", file.pid, added.info.devices,
                       added.info.buffers, added.info.objects);
}

/// Stops the queues of a process and reads its state. `kfd`: any descriptor of its compute state.
void AmdgpuDump::stopAndRead(DumpedProcess& process, const Kfd& kfd) {
    process.dmabufs.clear();
    for (int attempt = 1;; ++attempt) {
        process.info = kfd.pause();
        process.paused = true;
        checkOwner(process);
        try {
            process.state = kfd.checkpoint(process.info);
            break;
        } catch (const Error& error) {
            // The driver may have migrated memory (SVM) and changed its ranges, so that `info` has wrong counts. The
            // next attempt gets new counts.
            if (error.code() != EINVAL || attempt == kCheckpointAttempts)
                throw;
            unpause(process);
            process.paused = false;
        }
    }
    process.dmabufs.resize(process.state.buffers.size());
    for (std::size_t at = 0; at < process.state.buffers.size(); ++at)
        if (const std::uint32_t fd = process.state.buffers[at].dmabufFd; fd != kNoDmabuf)
            process.dmabufs[at].reset(static_cast<int>(fd));
}

/// Compares the compute state (context) of a second descriptor with that of the first. Throws Error if they differ. The
/// second context may be private (AMDKFD_IOC_CREATE_PROCESS, Linux 6.19), and checkpoint calls can't save it. Or it may
/// belong to a process that opened and then closed the file. The queues of such a context aren't stopped, so UNPAUSE
/// fails and shows the difference.
void AmdgpuDump::refuseContext(DumpedProcess& known, const files::OpenFd& file) {
    const Kfd other(kernel_, file.copy.get());
    if (!other.unpauseLeftOver())
        fail("{} has {} twice, {}: a restore would make them one", nameOf(known.pid), kKfdPath,
             known.version >= kFirstWithContexts ? "each with a context of its own" : "once of another process");
    known.paused = false;
    stopAndRead(known, other);
}

/// Throws Error if the process inherited the descriptor from another process. Such a descriptor gives access only to
/// the compute state of the process that opened it.
void AmdgpuDump::checkOwner(DumpedProcess& process) {
    if (process.info.pid == statusOf(process.pid).innermostPid())
        return;
    // Starts the queues now. The driver accepts the call only from the tracer of their owner. The guardian can't make
    // it, because `stopped_` contains the pid of another process.
    unpause(process);
    process.paused = false;
    stopped_.removeLast();
    fail("{} has {} of the process that is {} in its pid namespace, and which has closed it", nameOf(process.pid),
         kKfdPath, process.info.pid);
}

void AmdgpuDump::dumpLate(HostPid) {
    if (tree_.empty())
        return;
    const Topology topology = Topology::read(kernel_.topology());
    useMappedOffsets(topology);
    DumpObjects objects(kernel_);
    objects.identify(tree_.processes, topology);
    refuseSharing(tree_.processes, objects, topology, context_.options.compat);
    for (DumpedProcess& process : tree_.processes) {
        findDrmFiles(kernel_, process, tree_.nodes, topology);
        warnOfDies(process, topology, context_.log);
    }
    const bool killed = context_.options.finalState == model::FinalState::Default;
    // GPUs execute a trap handler from memory that the driver allocates and doesn't save (criu_checkpoint_bos() of
    // kfd_chardev.c).
    if (!tree_.processes.empty())
        context_.log.loss(
            Loss::Gpu,
            "amdgpu: trap handlers, by which GPUs report asserts and stop for debuggers, aren't in what the driver "
            "saves: restored queues have none");
    std::optional<ContextSearch> contexts;
    if (!listsContexts_.value_or(false))
        contexts.emplace(kernel_, tree_.nodes);
    for (RenderNode& node : tree_.nodes) {
        listBuffers(kernel_, node, objects, context_.log);
        checkHandles(kernel_, node, killed, context_.log);
    }
    dropComputeMappings(tree_);
    objects.chooseOwners(tree_, context_.options.compat);
    checkMappings(tree_, topology);

    const DriverIdentity driver = tree_.processes.empty() ? DriverIdentity{} : runningDriver(kernel_, topology);
    if (!tree_.processes.empty())
        context_.log.info("amdgpu: the dump is of {}", driver.describe());
    const DumpImages images(context_, tree_, objects, topology, driver);
    images.writeDmabufs();
    DumpContents(kernel_, context_, topology).save(tree_, bufferLimit_());
    if (contexts)
        contexts->requireNone();
    images.writeFiles();
}

/// Replaces the offsets of doorbells and registers by the offsets in the process' mappings. The driver reports offsets
/// with the machine's GPU ids, but some drivers look up mappings by the GPU ids that the process uses.
void AmdgpuDump::useMappedOffsets(const Topology& topology) {
    std::optional<MmapIds> ids;
    for (DumpedProcess& process : tree_.processes) {
        const std::vector<uapi::KfdBuffer>& all = process.state.buffers;
        if (!hasOtherIds(process.state.devices) ||
            std::none_of(all.begin(), all.end(), [](const uapi::KfdBuffer& one) { return isMappedByKfd(one.flags); }))
            continue;
        if (!ids)
            ids = findMmapIds(kernel_, topology, process.state.privateData);
        if (*ids != MmapIds::User)
            return;
        for (uapi::KfdBuffer& buffer : process.state.buffers)
            if (isMappedByKfd(buffer.flags))
                buffer.offset = withGpu(buffer.offset, buffer.gpuId);
    }
}

void AmdgpuDump::release(bool tasksResume) {
    // If criu will kill the processes, their queues remain stopped, because they must not write to shared memory any
    // more.
    if (!tasksResume)
        for (DumpedProcess& process : tree_.processes)
            process.paused = false;
    if (const std::exception_ptr failure = restartQueues())
        std::rethrow_exception(failure);
    // If criu will kill the processes, they remain in the list. If this process is killed first, the guardian starts
    // their queues.
    if (tasksResume)
        stopped_.clear();
}

std::exception_ptr AmdgpuDump::restartQueues() noexcept {
    std::exception_ptr first;
    for (auto process = tree_.processes.rbegin(); process != tree_.processes.rend(); ++process) {
        if (!std::exchange(process->paused, false))
            continue;
        try {
            unpause(*process);
        } catch (const std::exception& error) {
            if (first)
                context_.log.error("amdgpu: {}", error.what());
            else
                first = std::current_exception();
        }
    }
    return first;
}

/// Starts the queues of a process. Tries again after a failure, such as lack of memory, because a process with stopped
/// queues hangs.
void AmdgpuDump::unpause(const DumpedProcess& process) {
    for (int attempt = 1;; ++attempt) {
        try {
            Kfd(kernel_, process.kfd.get()).unpause();
            return;
        } catch (Error& error) {
            if (attempt == kUnpauseAttempts) {
                const ErrorContext context(
                    [&] { return fmt::format("process {} stays without its GPU queues", process.pid); });
                error.addLiveContexts();
                error.addHint("another dump of it with --leave-running tries again");
                throw;
            }
            context_.log.warn("amdgpu: process {}: {} (attempt {} of {})", process.pid, error.what(), attempt,
                              kUnpauseAttempts);
        }
        ::usleep(kUnpausePause);
    }
}

}  // namespace criu::amdgpu
