// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/restore.hpp"

#include <fcntl.h>

#include <compel/process.hpp>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/device/driver_image.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "images/criu-cuda.hpp"
#include "plugins/cuda/dump.hpp"
#include "plugins/cuda/libraries.hpp"
#include "plugins/cuda/management.hpp"
#include "plugins/cuda/match.hpp"
#include "plugins/cuda/options.hpp"
#include "plugins/cuda/processes.hpp"
#include "plugins/cuda/together.hpp"

namespace criu::cuda {
namespace {

/// Returns the tid of the driver's thread in a frozen process. `named`: tid in the images. If `named` is 0, searches
/// for a thread with a name that the driver gives ("cuda" and digits, as in driver 580).
std::optional<pid_t> driversThread(const compel::FrozenProcess& process, TreePid named) {
    const kernel::ProcPid directory = kernel::ProcDir().open(process.pid());
    kernel::ProcBuffer buffer;
    for (const compel::FrozenThread& thread : process.threads()) {
        const pid_t tid = thread.tracee.tid();
        const kernel::TaskStatus status = kernel::readThreadStatus(directory, tid, buffer);
        constexpr std::string_view kName = "cuda";
        const bool same = named ? TreePid(status.innermostPid()) == named
                                : status.name.starts_with(kName) && status.name.size() > kName.size() &&
                                      status.name[kName.size()] >= '0' && status.name[kName.size()] <= '9';
        if (same)
            return tid;
    }
    return std::nullopt;
}

}  // namespace

/// Throws Error if GPU contents are in separate files (gpu-cs-PID.img), as in images of CRIU 4.3's plugin.
void CudaRestore::refuseStorageOfPlugin() const {
    for (const auto& task : context_.tree->tasks) {
        const std::string name = fmt::format("gpu-cs-{}.img", task->pid);
        if (context_.images.openNamed(name, O_RDONLY))
            fail("{} has contents of GPUs in the form of CRIU 4.3's cuda_plugin, which this criu can't read", name);
    }
}

void CudaRestore::prepare(files::FileRestore&) {
    if (!driver_.isPresent())
        fail("the images are of processes that use CUDA, but there is no NVIDIA driver here");
    const auto image = device::readDriverImage<CudaImage>(context_.images, kImageName);
    if (!image) {
        refuseStorageOfPlugin();
        return;
    }
    const CudaImage& note = **image;
    const std::string then = note.driver != nullptr ? note.driver : "";
    const std::string now = driver_.version();
    // The dumped memory contains the driver's library, which needs a kernel driver of the same version.
    if (!then.empty() && !now.empty() && then != now)
        fail("the images are of NVIDIA driver {}, but here it is {}", then, now);
    std::vector<Library> libraries;
    for (const CudaLibrary* const library : list(note.libraries, note.n_libraries))
        libraries.push_back({library->path, library->build_id, library->inside == 0});
    compareLibraries(libraries, context_.log);
    for (const CudaGpu* const gpu : list(note.gpus, note.n_gpus))
        then_.push_back({gpu->uuid, gpu->model != nullptr ? gpu->model : "", gpu->memory});
    for (const CudaInheritedFile* const file : list(note.inherited, note.n_inherited)) {
        if (!isDevicePath(file->path))
            fail("{}: '{}' is no device of NVIDIA's driver", kImageName, file->path);
        inherited_[FileId{file->id}] = file->path;
    }
    const std::map<std::string, GpuMemory> memory = askForMemory(driver_, context_.stop);
    chooseGpus(memory);
    processes_.emplace();
    std::uint64_t staged = 0;
    for (const CudaProcess* const process : list(note.processes, note.n_processes)) {
        Process& known = (*processes_)[TreePid(static_cast<pid_t>(process->pid))];
        known.before = static_cast<State>(process->state);
        known.thread = TreePid(static_cast<pid_t>(process->thread));
        noteContents(*process, known);
        if (static_cast<State>(process->state) != State::Checkpointed)
            staged += process->staged;
    }
    requireRoom(staged, memory);
}

/// Opens a device file that a forked process inherited and can't use. Opens the file with O_PATH, so that a later dump
/// knows that the driver has no state for this descriptor.
device::DeviceRestore::Opened CudaRestore::open(FileId id, files::FileOpener& opener) {
    const auto found = inherited_.find(id);
    if (found == inherited_.end())
        return Opened::NotMine;
    const std::string& path = found->second;
    constexpr int kFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd fd(::open(path.c_str(), kFlags));
    if (!fd && errno == ENOENT)
        fd.reset(::open("/dev/nvidiactl", kFlags));
    sys(fd.get(), "open {}, which a process had inherited", path);
    opener.provide(id, std::move(fd));
    return Opened::Done;
}

/// Reserves the addresses of a device mapping by a mapping of /dev/zero. The dump has recorded such a mapping without
/// access rights.
std::optional<device::Relocated> CudaRestore::relocate(const device::DeviceMapping& mapping) {
    if (!isDevicePath(mapping.path))
        return std::nullopt;
    return device::Relocated{0, UniqueFd(sys(::open("/dev/zero", O_RDWR | O_CLOEXEC), "open /dev/zero"))};
}

/// Throws Error if the GPUs have less free memory than the processes need. If the driver ran out of memory during a
/// restore, it could neither continue nor revert, and the process would be lost.
void CudaRestore::requireRoom(std::uint64_t bytes, const std::map<std::string, GpuMemory>& memory) const {
    std::uint64_t free = 0;
    for (const auto& [uuid, of] : memory)
        if (chosen_.empty() || std::any_of(chosen_.begin(), chosen_.end(),
                                           [&uuid = uuid](const auto& pair) { return pair.second == uuid; }))
            free += of.free;
    if (!memory.empty() && bytes > free)
        fail("{} MiB are to be put on GPUs, which have only {} MiB left", bytes >> 20, free >> 20);
}

device::DeviceRestore::GpuName CudaRestore::findGpu(const std::string& name) const {
    return cuda::findGpu(then_, name) != nullptr ? GpuName::Known : GpuName::Unknown;
}

void CudaRestore::noteContents(const CudaProcess& entry, Process& process) {
    for (const CudaContent* const content : list(entry.contents, entry.n_contents)) {
        StoredContent& stored = process.contents.emplace_back();
        if (content->gpu.len != stored.gpu.size())
            fail("the image has a UUID of {} bytes", content->gpu.len);
        std::copy_n(content->gpu.data, stored.gpu.size(), stored.gpu.begin());
        stored.bytes = content->bytes;
        stored.object = content->object;
        (void)context_.sources->openRequired(memory::MemoryObject::device(stored.object));
    }
    if (!process.contents.empty() && driver_.apiVersion() < kStorageSince)
        fail("contents of GPUs were saved in storage mode, which came with CUDA 13.4 (driver 615)");
}

/// Returns a function that restores device contents of a process. After a timeout, the function may still run in a
/// thread when this object is destroyed. So without storage mode, the function uses only the driver object, which
/// exists until criu ends.
std::function<void(pid_t)> CudaRestore::restores(std::map<pid_t, Process*> noted) {
    // The function owns the list by a shared_ptr, because the driver uses the list until the call returns.
    const auto pairs = std::make_shared<const std::vector<GpuPair>>(pairs_);
    return [this, &driver = driver_, storage = storage_, noted = std::move(noted), pairs](pid_t pid) {
        const std::optional<State> state = driver.state(pid);
        Process* const process = storage != nullptr ? noted.at(pid) : nullptr;
        if (state == State::Checkpointed && process != nullptr && !process->contents.empty())
            ContentStorage(*storage, context_.watch, &process->moved)
                .load(pid, process->contents, *pairs, *context_.sources, &context_.stop);
        else if (state == State::Checkpointed)
            driver.restore(pid, *pairs);
        else if (state != State::Locked)
            fail("process {} is in state {} of the CUDA driver", pid, state ? static_cast<int>(*state) : -1);
    };
}

void CudaRestore::chooseGpus(const std::map<std::string, GpuMemory>& memory) {
    std::vector<Gpu> now = driver_.gpus();
    for (Gpu& gpu : now)
        if (const auto known = memory.find(gpu.uuid); known != memory.end())
            gpu.memory = known->second.total;
    chosen_ = matchGpus(then_, now, context_.options.gpuMap);
    for (const Gpu& gpu : then_)
        if (!chosen_.contains(gpu.uuid))
            context_.log.warn("cuda: there is no GPU here that could take the place of {} ({})", gpu.uuid, gpu.model);
    if (std::all_of(chosen_.begin(), chosen_.end(), [](const auto& pair) { return pair.first == pair.second; }))
        return;
    for (const auto& [from, to] : chosen_) {
        context_.log.info("cuda: {} becomes {}", from, to);
        pairs_.push_back({parseUuid(from), parseUuid(to)});
    }
}

void CudaRestore::resumeAll(std::span<const device::ResumedProcess> processes) {
    std::vector<Target> restored;
    std::vector<Target> unlocked;
    std::map<pid_t, Process*> noted;
    for (const device::ResumedProcess& each : processes) {
        const HostPid pid(each.process->pid());
        Process* known = nullptr;
        if (processes_) {
            const auto found = processes_->find(each.pid);
            if (found == processes_->end() || found->second.before == State::Checkpointed)
                continue;
            known = &found->second;
        } else if (!usesCuda(pid)) {
            continue;
        }
        const std::optional<pid_t> thread = driversThread(*each.process, known != nullptr ? known->thread : TreePid());
        if (!thread && !processes_)
            // CRIU 4.2 doesn't store which processes have CUDA state. A process that has mapped the library, but has no
            // thread of the driver, hasn't used CUDA.
            continue;
        if (!thread)
            fail("process {} has no thread any more that works for the CUDA driver", each.pid);
        restored.push_back({each.process, *thread, nullptr, known != nullptr ? &known->moved : nullptr});
        if (known == nullptr || known->before == State::Running)
            unlocked.push_back({each.process, *thread});
        noted[pid.value] = known;
        if (known != nullptr && !known->contents.empty() && storage_ == nullptr)
            storage_ = driver_.storage();
    }
    if (restored.empty())
        return;
    context_.log.info("cuda: putting back what GPUs held of {} processes", restored.size());
    const auto start = std::chrono::steady_clock::now();
    throwFirst(callInParallel(restored, restores(std::move(noted)), {timeoutOf(context_.options), &context_.stop}));
    context_.stop.throwIfRequested();
    // Stopped processes stay locked. The user must unlock such a process before resuming it.
    if (context_.options.finalState == model::FinalState::Stopped)
        context_.log.info("cuda: the processes stay locked, since they stay stopped");
    else
        throwFirst(callInParallel(unlocked, [&driver = driver_](pid_t pid) { driver.unlock(pid); },
                                  {kAnswer, &context_.stop}));
    context_.log.info(
        "cuda: done in {} ms",
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace criu::cuda
