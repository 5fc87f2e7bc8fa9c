// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/dump.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <compel/process.hpp>

#include <algorithm>

#include "criu/device/content_mover.hpp"
#include "criu/kernel/maps.hpp"
#include "criu/kernel/nslinks.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/kernel/status.hpp"
#include "plugins/amdgpu/cpu_copier.hpp"
#include "plugins/amdgpu/drm.hpp"
#include "plugins/amdgpu/image_file.hpp"
#include "plugins/amdgpu/shared_memory.hpp"

namespace criu::amdgpu {
namespace {

// From here on minors are those of whatever kind of node needs one.
constexpr unsigned kFirstMixedMinor = 192;

constexpr int kUnpauseAttempts = 3;
constexpr int kCheckpointAttempts = 5;
// PROC_USER_INIT_INO of Linux.
constexpr std::uint32_t kInitialUserNamespace = 0xeffffffd;
constexpr useconds_t kUnpausePause = 20'000;  // between them

UniqueFd copyOf(int fd) {
    return UniqueFd(sys(::fcntl(fd, F_DUPFD_CLOEXEC, 0), "copy descriptor {}", fd));
}

/// Each buffer is held by a descriptor until its content is written.
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

/// "process 12 (python3)".
std::string nameOf(HostPid pid) {
    return fmt::format("process {} ({})", pid, statusOf(pid).name);
}

// Handles that CRIU 4.2 finds KFD buffers by: beyond any that render nodes give.
constexpr std::uint32_t kOwnHandles = 0x40000000;

}  // namespace

AmdgpuDump::AmdgpuDump(Kernel& kernel, const device::Context& context, std::function<std::uint64_t()> bufferLimit)
    : kernel_(kernel), context_(context), bufferLimit_(std::move(bufferLimit)) {}

AmdgpuDump::~AmdgpuDump() {
    if (const std::exception_ptr failure = restartQueues()) {
        // The dump has failed already, for another reason.
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& error) {
            context_.log.error("amdgpu: {}", error.what());
        }
    }
}

bool AmdgpuDump::isKfd(const struct stat& status) {
    return S_ISCHR(status.st_mode) && status.st_rdev != 0 && status.st_rdev == kernel_.device(kKfdPath);
}

std::uint32_t AmdgpuDump::renderMinor(const struct stat& status) {
    const unsigned minor = gnu_dev_minor(status.st_rdev);
    if (!S_ISCHR(status.st_mode) || gnu_dev_major(status.st_rdev) != kDrmMajor || minor < kFirstRenderMinor ||
        minor > kLastRenderMinor)
        return 0;
    const auto [at, fresh] = ours_.try_emplace(status.st_rdev, false);
    if (fresh && (minor < kFirstMixedMinor || kernel_.device(renderPath(minor)) == status.st_rdev)) {
        // Other drivers have render nodes, too.
        const UniqueFd node = kernel_.open(renderPath(minor), O_RDWR);
        at->second = Drm(kernel_, node.get()).driver() == "amdgpu";
    }
    return at->second ? minor : 0;
}

bool AmdgpuDump::claims(const device::MappedDevice& mapped) {
    const std::uint32_t minor = renderMinor(mapped.stat);
    if (minor == 0 && !isKfd(mapped.stat))
        return false;
    mapped_.push_back({mapped.pid, minor, mapped.vma.start, mapped.vma.pgoff});
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
    allowManyFiles();  // each buffer is one
    if (isKfd(file.stat))
        dumpKfd(file, id);
    else if (const std::uint32_t minor = renderMinor(file.stat); minor != 0)
        nodes_.push_back({id, file.pid, minor, copyOf(file.copy.get()), {}});
    else
        dmabufs_.push_back({id, copyOf(file.copy.get()), file.describe()});
    return true;
}

void AmdgpuDump::dumpKfd(const files::OpenFd& file, FileId id) {
    for (const Process& known : processes_)
        if (known.pid == file.pid) {
            further_.push_back({id, file.pid, known.id});
            if (Kfd(kernel_, kernel_.open(kKfdPath, O_RDONLY).get()).minorVersion() >= kFirstWithContexts)
                context_.log.warn(
                    "amdgpu: process {} has {} open several times; if one of them is a context of its own, that is "
                    "lost",
                    file.pid, kKfdPath);
            return;
        }
    // RESTORE is for those who may do that in the initial user namespace (kfd_chardev.c); a restored process opens its
    // device files when it is in its own already.
    const auto users = kernel::readNamespaceId(kernel::ProcDir().open(file.pid.value), kernel::NamespaceKind::User);
    if (users && *users != kInitialUserNamespace)
        fail("{} is in a user namespace of its own, in which the compute driver restores nobody", nameOf(file.pid));
    Process process;
    process.id = id;
    process.pid = file.pid;
    process.kfd = copyOf(file.copy.get());
    const Kfd kfd(kernel_, process.kfd.get());
    // The driver answers only checkpoint calls by another process' descriptor.
    Kfd(kernel_, kernel_.open(kKfdPath, O_RDONLY).get()).requireCriu();
    // The driver counts stops: one that was never undone would outlast this dump.
    if (kfd.unpauseLeftOver())
        context_.log.warn("amdgpu: process {}: an earlier dump had left its queues stopped", file.pid);
    // From here on it is undone with this object.
    Process& added = processes_.emplace_back(std::move(process));
    for (int attempt = 1;; ++attempt) {
        added.info = kfd.pause();
        added.paused = true;
        checkOwner(added);
        try {
            added.state = kfd.checkpoint(added.info);
            break;
        } catch (const Error& error) {
            // The driver counts anew, and memory of the process that it migrates by itself (SVM) may have become other
            // ranges meanwhile.
            if (error.code() != EINVAL || attempt == kCheckpointAttempts)
                throw;
            unpause(added);
            added.paused = false;
        }
    }
    added.dmabufs.resize(added.state.buffers.size());
    for (std::size_t at = 0; at < added.state.buffers.size(); ++at)
        if (const std::uint32_t fd = added.state.buffers[at].dmabufFd; fd != kNoDmabuf)
            added.dmabufs[at].reset(static_cast<int>(fd));
    context_.log.debug("amdgpu: process {}: {} GPUs, {} buffers, {} objects", file.pid, added.info.devices,
                       added.info.buffers, added.info.objects);
}

/// A descriptor of /dev/kfd stands for the state of the process that opened it, also in a child that has inherited it.
void AmdgpuDump::checkOwner(const Process& process) const {
    if (process.info.pid == statusOf(process.pid).innermostPid())
        return;
    fail("{} has {} of the process that is {} in its pid namespace, and which has closed it", nameOf(process.pid),
         kKfdPath, process.info.pid);
}

/// The render node of the GPU that a buffer is of; 0: the GPU can't be seen.
std::uint32_t AmdgpuDump::minorOf(const Process& process, const uapi::KfdBuffer& buffer, const Topology& topology) {
    for (const uapi::KfdDevice& device : process.state.devices)
        if (device.userGpuId == buffer.gpuId)
            if (const Node* const gpu = topology.findGpu(device.actualGpuId))
                return gpu->renderMinor;
    return 0;
}

/// DMA-BUFs of the same memory are the same file.
AmdgpuDump::Object AmdgpuDump::objectOf(int dmabuf, bool add) {
    const struct stat status = kernel_.status(dmabuf);
    const std::pair key(status.st_dev, status.st_ino);
    if (const auto found = objects_.find(key); found != objects_.end())
        return found->second;
    if (!add)
        return 0;
    return objects_[key] = static_cast<Object>(objects_.size() + 1);
}

/// A process may have a render node open several times, and the driver doesn't say which of the files it was given. It
/// lets a buffer of the compute driver be mapped by that one only: EACCES is the answer to all others (drm_gem_mmap()
/// of Linux, with the files that amdgpu_amdkfd_gpuvm.c allows), whatever may come after it.
/// Until Linux 6.7 (amdgpu_amdkfd_gpuvm.c) the compute driver makes a new DMA-BUF of a buffer each time that it is
/// asked for one. But on one GPU a buffer has one mmap offset, whoever has it.
void AmdgpuDump::identifyBuffers(const Topology& topology) {
    std::map<std::pair<std::uint32_t, std::uint64_t>, Object> byOffset;
    for (Process& process : processes_)
        for (std::size_t at = 0; at < process.state.buffers.size(); ++at) {
            const uapi::KfdBuffer& buffer = process.state.buffers[at];
            const UniqueFd& dmabuf = process.dmabufs[at];
            Object object = dmabuf ? objectOf(dmabuf.get(), true) : 0;
            if (object != 0) {
                const auto [known, fresh] =
                    byOffset.try_emplace({minorOf(process, buffer, topology), buffer.offset}, object);
                if (!fresh && known->second != object) {
                    const struct stat status = kernel_.status(dmabuf.get());
                    objects_[{status.st_dev, status.st_ino}] = object = known->second;
                }
            }
            process.objects.push_back(object);
        }
}

/// RESTORE makes a buffer of its own for each entry of each process (kfd_chardev.c), so the processes would go on with
/// different memory.
void AmdgpuDump::refuseSharing(const Topology& topology) const {
    std::map<Object, std::pair<const Process*, const uapi::KfdBuffer*>> first;
    for (const Process& process : processes_)
        for (std::size_t at = 0; at < process.objects.size(); ++at) {
            const uapi::KfdBuffer& buffer = process.state.buffers[at];
            if (process.objects[at] == 0)
                continue;
            const auto [known, fresh] = first.try_emplace(process.objects[at], &process, &buffer);
            if (fresh)
                continue;
            const auto& [other, its] = known->second;
            const Node* const gpu = topology.findMinor(minorOf(process, buffer, topology));
            Error error(
                0, fmt::format("{} and {} share memory of {}: {} bytes at {:#x} and {:#x}. The compute driver would "
                               "restore them as two separate buffers",
                               nameOf(other->pid), nameOf(process.pid),
                               gpu != nullptr ? gpu->describe() : std::string("a GPU"), buffer.size, its->address,
                               buffer.address));
            error.addHint(
                "it is shared by hipIpcOpenMemHandle() or the like; when the handle is closed, the dump can be "
                "made");
            throw error;
        }
}

void AmdgpuDump::findDrmFiles(Process& process, const Topology& topology) const {
    for (const uapi::KfdDevice& device : process.state.devices) {
        const Node* const gpu = topology.findGpu(device.actualGpuId);
        const auto buffer =
            std::find_if(process.state.buffers.begin(), process.state.buffers.end(),
                         [&](const uapi::KfdBuffer& one) { return one.gpuId == device.userGpuId && hasContent(one); });
        if (gpu == nullptr || buffer == process.state.buffers.end())
            continue;
        for (const RenderNode& node : nodes_)
            if (node.minor == gpu->renderMinor && kernel_.tryMap(node.fd.get(), buffer->offset) != EACCES) {
                process.drmFiles.emplace(device.userGpuId, node.id);
                break;
            }
    }
}

void AmdgpuDump::lookAtBuffers(RenderNode& node) {
    const Drm drm(kernel_, node.fd.get());
    const auto entries = drm.buffers();
    if (!entries) {
        // Compute processes have render nodes open without any; a mapping of one that is there is refused below.
        context_.log.warn(
            "amdgpu: this kernel doesn't say which buffers process {} has by {}: if there are any, they "
            "are lost",
            node.pid, renderPath(node.minor));
        return;
    }
    for (const uapi::GemListEntry& entry : *entries) {
        RenderBuffer buffer;
        buffer.entry = entry;
        {
            const ErrorContext context([&] {
                return fmt::format("buffer {} of {} in process {}", entry.handle, renderPath(node.minor), node.pid);
            });
            buffer.mappings = drm.mappings(entry.handle);
            buffer.mmapOffset = drm.tryMmapOffset(entry.handle);
            buffer.dmabuf = drm.tryExport(entry.handle);
            refuseUnreachable(node, buffer);
            if (buffer.dmabuf)
                buffer.object = objectOf(buffer.dmabuf.get(), true);
            else
                buffer.object = objects_[{0, ++privateBuffers_}] = static_cast<Object>(objects_.size() + 1);
        }
        node.buffers.push_back(std::move(buffer));
    }
    std::sort(node.buffers.begin(), node.buffers.end(),
              [](const RenderBuffer& one, const RenderBuffer& other) { return one.entry.handle < other.entry.handle; });
}

/// What can neither be exported nor mapped, or is no memory. The kernel's rules are those of amdgpu_gem_prime_export()
/// and amdgpu_mode_dumb_mmap() of Linux 6.18.
void AmdgpuDump::refuseUnreachable(const RenderNode& node, const RenderBuffer& buffer) {
    std::string_view what;
    if ((buffer.entry.preferredDomains & ~uapi::kMemoryDomains) != 0)
        what = "is no memory, but a part of the GPU itself";
    else if ((buffer.entry.allocFlags & AMDGPU_GEM_CREATE_ENCRYPTED) != 0)
        what = "is encrypted";
    else if (!buffer.dmabuf && (buffer.entry.allocFlags & AMDGPU_GEM_CREATE_VM_ALWAYS_VALID) == 0)
        what = "is memory of a process (GEM_USERPTR), whose address the driver doesn't tell";
    else if (!buffer.dmabuf && !buffer.mmapOffset)
        what = "is always valid in its address space, and hidden from processors: nobody else reaches it";
    else
        return;
    const NoOuterContexts whole;
    fail("buffer {} of {} in {} {}", buffer.entry.handle, renderPath(node.minor), nameOf(node.pid), what);
}

/// Exactly one description makes each object on restore, the others import it: a process' compute state, else the file
/// that made it, else (that is gone) the first that imported it.
void AmdgpuDump::chooseOwners() {
    std::map<Object, bool> owned;
    for (const Process& process : processes_)
        for (const Object object : process.objects)
            if (object != 0)
                owned[object] = true;
    for (const bool imported : {false, true})
        for (RenderNode& node : nodes_)
            for (RenderBuffer& buffer : node.buffers) {
                handles_.try_emplace(buffer.object, buffer.entry.handle);
                if (((buffer.entry.flags & uapi::kListImported) != 0) != imported)
                    continue;
                buffer.imported = !owned.try_emplace(buffer.object, true).second;
            }
}

void AmdgpuDump::checkMappings(const Topology& topology) const {
    for (const Mapped& mapped : mapped_) {
        if (mapped.minor == 0) {
            if (std::none_of(processes_.begin(), processes_.end(),
                             [&](const Process& process) { return process.pid == mapped.pid; }))
                fail("memory at {:#x} of process {} is of {}, which the process has closed", mapped.start, mapped.pid,
                     kKfdPath);
            continue;
        }
        const auto within = [&](std::uint64_t offset, std::uint64_t size) {
            return mapped.offset >= offset && mapped.offset - offset < size;
        };
        const bool known =
            std::any_of(processes_.begin(), processes_.end(),
                        [&](const Process& process) {
                            return process.pid == mapped.pid &&
                                   std::any_of(process.state.buffers.begin(), process.state.buffers.end(),
                                               [&](const uapi::KfdBuffer& buffer) {
                                                   // Each render node counts its offsets by itself.
                                                   return minorOf(process, buffer, topology) == mapped.minor &&
                                                          within(buffer.offset, buffer.size);
                                               });
                        }) ||
            std::any_of(nodes_.begin(), nodes_.end(), [&](const RenderNode& node) {
                return node.minor == mapped.minor &&
                       std::any_of(node.buffers.begin(), node.buffers.end(), [&](const RenderBuffer& buffer) {
                           return buffer.mmapOffset && within(*buffer.mmapOffset, buffer.entry.size);
                       });
            });
        if (known)
            continue;
        Error error(0, fmt::format("memory at {:#x} of process {} maps offset {:#x} of {}, where no buffer of the "
                                   "process is",
                                   mapped.start, mapped.pid, mapped.offset, renderPath(mapped.minor)));
        error.addHint("if it has just freed the buffer and is about to unmap it, another try will do");
        throw error;
    }
}

std::uint32_t AmdgpuDump::handleOf(Object object) const {
    const auto found = handles_.find(object);
    return found != handles_.end() ? found->second : kOwnHandles + object;
}

/// What the images call a GPU: as the first process that uses it does.
GpuId AmdgpuDump::userId(GpuId local) const {
    for (const Process& process : processes_)
        for (const uapi::KfdDevice& device : process.state.devices)
            if (device.actualGpuId == local)
                return device.userGpuId;
    return local;
}

void AmdgpuDump::saveContents(const Topology& topology) {
    std::vector<UniqueFd> files;
    GpuContents contents(kernel_);
    device::ContentMover mover(contents, device::Direction::Save, bufferLimit_(), &context_.stop);
    for (Process& process : processes_)
        for (const uapi::KfdDevice& device : process.state.devices) {
            const Node* const gpu = topology.findGpu(device.actualGpuId);
            if (gpu == nullptr)
                fail("process {} uses GPU {:#06x}, which {} doesn't show", process.pid, device.actualGpuId,
                     kernel_.topology());
            const auto isHere = [&](const uapi::KfdBuffer& buffer) {
                return buffer.gpuId == device.userGpuId && hasContent(buffer);
            };
            std::uint64_t size = 0;
            for (const uapi::KfdBuffer& buffer : process.state.buffers)
                size += isHere(buffer) ? buffer.size : 0;
            files.push_back(createContent(context_.images, pagesImageName(process.id, device.userGpuId), size));
            std::uint64_t offset = kContentStart;
            for (std::size_t at = 0; at < process.state.buffers.size(); ++at) {
                const uapi::KfdBuffer& buffer = process.state.buffers[at];
                if (!isHere(buffer))
                    continue;
                if (!process.dmabufs[at])
                    fail("the driver gave no DMA-BUF for the buffer at {:#x} of process {}", buffer.address,
                         process.pid);
                mover.add(gpu->renderMinor, {std::move(process.dmabufs[at]), buffer.size, files.back().get(), offset});
                offset += buffer.size;
            }
        }
    for (RenderNode& node : nodes_)
        for (std::size_t at = 0; at < node.buffers.size(); ++at) {
            RenderBuffer& buffer = node.buffers[at];
            files.push_back(
                createContent(context_.images, renderPagesImageName(node.id, node.minor, at), buffer.entry.size));
            if (buffer.dmabuf)
                mover.add(node.minor, {std::move(buffer.dmabuf), buffer.entry.size, files.back().get(), kContentStart});
            else
                saveMapped(kernel_, node.fd.get(), *buffer.mmapOffset, buffer.entry.size, files.back().get(),
                           kContentStart, [this] { context_.stop.throwIfRequested(); });
        }
    mover.finish();
    mover.report(context_.log);
}

void AmdgpuDump::writeKfd(const Process& process, const Topology& topology) {
    Arena arena;
    auto& image = *arena.make<CriuKfd>();
    image.pid = static_cast<std::uint32_t>(process.info.pid);  // as the process itself is called
    std::vector<Topology::ImageGpu> gpus;
    for (const uapi::KfdDevice& device : process.state.devices)
        gpus.push_back({device.actualGpuId, device.userGpuId});
    topology.toImage(gpus, image, arena);
    for (KfdDeviceEntry* const entry : list(image.device_entries, image.n_device_entries))
        if (const auto file = process.drmFiles.find(entry->gpu_id);
            entry->gpu_id != 0 && file != process.drmFiles.end()) {
            entry->has_drm_file = 1;
            entry->drm_file = file->second.value;
        }
    image.num_of_bos = image.n_bo_entries = process.state.buffers.size();
    image.bo_entries = arena.messages<KfdBoEntry>(process.state.buffers.size());
    for (std::size_t at = 0; at < process.state.buffers.size(); ++at) {
        const uapi::KfdBuffer& buffer = process.state.buffers[at];
        KfdBoEntry& entry = *image.bo_entries[at];
        entry.addr = buffer.address;
        entry.size = buffer.size;
        entry.offset = buffer.offset;
        entry.alloc_flags = buffer.flags;
        entry.gpu_id = buffer.gpuId;
        const Object object = process.objects[at];
        entry.handle = object != 0 ? handleOf(object) : kNoDmabuf;
        entry.has_object = object != 0;
        entry.object = object;
    }
    image.num_of_objects = process.state.objects;
    const SharedMemory shared = readSharedMemory();
    image.shared_mem_size = shared.size;
    image.shared_mem_magic = shared.magic;
    image.priv_data = arena.bytes(process.state.privateData);
    writeImage(context_.images, kfdImageName(process.id), image.base);
}

void AmdgpuDump::writeRender(const RenderNode& node, const Topology& topology) {
    Arena arena;
    auto& image = *arena.make<CriuRenderNode>();
    const Node* const gpu = topology.findMinor(node.minor);
    image.gpu_id = gpu != nullptr ? userId(gpu->gpuId) : 0;
    image.id = node.id.value;
    image.drm_render_minor = node.minor;
    image.num_of_bos = image.n_bo_entries = node.buffers.size();
    image.bo_entries = arena.messages<DrmBoEntry>(node.buffers.size());
    for (std::size_t at = 0; at < node.buffers.size(); ++at) {
        const RenderBuffer& buffer = node.buffers[at];
        DrmBoEntry& entry = *image.bo_entries[at];
        entry.addr = buffer.mappings.empty() ? 0 : buffer.mappings.front().address;
        entry.size = buffer.entry.size;
        entry.offset = buffer.mmapOffset.value_or(0);
        entry.alloc_flags = buffer.entry.allocFlags;
        // The driver lists it in pages (ttm_buffer_object), and takes it in bytes.
        entry.alignment = buffer.entry.alignment * kGpuPageSize;
        entry.preferred_domains = static_cast<std::uint32_t>(buffer.entry.preferredDomains);
        entry.handle = buffer.entry.handle;
        entry.is_import = buffer.imported ? 1 : 0;
        entry.has_object = 1;
        entry.object = buffer.object;
        entry.num_of_vms = static_cast<std::uint32_t>(buffer.mappings.size());
        entry.n_vm_entries = buffer.mappings.size();
        entry.vm_entries = arena.messages<DrmVmEntry>(buffer.mappings.size());
        for (std::size_t vm = 0; vm < buffer.mappings.size(); ++vm) {
            entry.vm_entries[vm]->addr = buffer.mappings[vm].address;
            entry.vm_entries[vm]->size = buffer.mappings[vm].size;
            entry.vm_entries[vm]->offset = buffer.mappings[vm].offset;
            entry.vm_entries[vm]->flags = buffer.mappings[vm].flags;
        }
    }
    writeImage(context_.images, renderImageName(node.id), image.base);
}

void AmdgpuDump::dumpLate(HostPid) {
    if (processes_.empty() && nodes_.empty() && dmabufs_.empty() && mapped_.empty())
        return;
    const Topology topology = Topology::read(kernel_.topology());
    identifyBuffers(topology);
    refuseSharing(topology);
    for (Process& process : processes_)
        findDrmFiles(process, topology);
    for (RenderNode& node : nodes_)
        lookAtBuffers(node);
    chooseOwners();
    checkMappings(topology);

    for (const Dmabuf& dmabuf : dmabufs_) {
        CriuDmabufNode image = CRIU_DMABUF_NODE__INIT;
        image.object = objectOf(dmabuf.fd.get(), false);
        if (image.object == 0)
            fail("{} is a DMA-BUF of a buffer that nobody in the tree has", dmabuf.name);
        image.has_object = 1;
        image.gem_handle = handleOf(image.object);
        writeImage(context_.images, dmabufImageName(dmabuf.id), image.base);
    }
    saveContents(topology);
    for (const Process& process : processes_)
        writeKfd(process, topology);
    for (const Further& further : further_) {
        CriuKfd image = CRIU_KFD__INIT;
        for (const Process& process : processes_)
            if (process.id == further.primary)
                image.pid = static_cast<std::uint32_t>(process.info.pid);
        image.has_primary = 1;
        image.primary = further.primary.value;
        writeImage(context_.images, kfdImageName(further.id), image.base);
    }
    for (const RenderNode& node : nodes_)
        writeRender(node, topology);
}

void AmdgpuDump::release(bool goOn) {
    // Queues of processes that are about to be killed stay stopped: they mustn't write to what is shared with others.
    if (!goOn)
        for (Process& process : processes_)
            process.paused = false;
    if (const std::exception_ptr failure = restartQueues())
        std::rethrow_exception(failure);
}

std::exception_ptr AmdgpuDump::restartQueues() noexcept {
    std::exception_ptr first;
    for (auto process = processes_.rbegin(); process != processes_.rend(); ++process) {
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

/// A process whose queues stay stopped hangs, so a driver that is short of something is asked again.
void AmdgpuDump::unpause(const Process& process) {
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
