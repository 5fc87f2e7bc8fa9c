// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/dump.hpp"

#include <fcntl.h>

#include <compel/process.hpp>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/refusals.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/device/driver_image.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/image/arena.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/proc/kcmp.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/scan.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/model/options.hpp"
#include "images/criu-cuda.hpp"
#include "plugins/cuda/management.hpp"
#include "plugins/cuda/options.hpp"
#include "plugins/cuda/processes.hpp"
#include "plugins/cuda/staging.hpp"
#include "plugins/cuda/unsupported.hpp"

namespace criu::cuda {
namespace {

/// Timeout of one attempt to lock all processes. After the timeout, criu unlocks all processes, because one process may
/// wait for another one that is locked.
constexpr std::chrono::seconds kAttempt{10};

std::chrono::milliseconds until(std::chrono::steady_clock::time_point end) {
    return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()),
                    std::chrono::milliseconds(1));
}

void requireCheckpointed(Driver& driver, pid_t pid) {
    const std::optional<State> state = driver.state(pid);
    if (state != State::Checkpointed)
        fail("process {} is in state {} of the CUDA driver after its checkpoint", pid,
             state ? static_cast<int>(*state) : -1);
}

void addContents(CudaProcess& entry, std::span<const StoredContent> contents, Arena& arena) {
    entry.n_contents = contents.size();
    entry.contents = arena.array<CudaContent*>(contents.size());
    for (std::size_t i = 0; i < contents.size(); ++i) {
        CudaContent& content = *(entry.contents[i] = arena.make<CudaContent>());
        content.gpu.len = contents[i].gpu.size();
        content.gpu.data = arena.array<std::uint8_t>(contents[i].gpu.size());
        std::copy(contents[i].gpu.begin(), contents[i].gpu.end(), content.gpu.data);
        content.bytes = contents[i].bytes;
        content.object = contents[i].object;
    }
}

}  // namespace

CudaDump::~CudaDump() {
    if (released_ || processes_.empty())
        return;
    // A failure is only logged, because CudaSubsystem::rescue() tries again when the processes run again.
    try {
        restoreDriverState();
    } catch (const std::exception& error) {
        context_.log.error("cuda: a process can't go on as before: {}", error.what());
    }
}

bool CudaDump::note(HostPid pid) {
    if (processes_.contains(pid) || !usesCuda(pid))  // also checks a process in `others_`, because it may use CUDA now
        return false;
    if (isStopped(pid)) {
        Error error(
            0, fmt::format("process {} uses CUDA and is stopped by a signal, so the driver can't work for it", pid));
        error.addHint("send it SIGCONT before the dump");
        throw error;
    }
    struct Answer {
        std::optional<State> state;
        pid_t thread = 0;
    };
    const auto answer = std::make_shared<Answer>();
    callWithTimeout(
        [&driver = driver_, pid, answer] {
            answer->state = driver.state(pid.value);
            if (answer->state)
                answer->thread = driver.restoreThread(pid.value);
        },
        kAnswer, &context_.stop, fmt::format("ask for the state of process {}", pid));
    const auto [state, thread] = *answer;
    if (!state) {
        others_.insert(pid);
        return false;
    }
    context_.log.info("cuda: process {} has CUDA state ({}), thread {} works for the driver", pid,
                      static_cast<int>(*state), thread);
    if (*state != State::Running && *state != State::Locked && *state != State::Checkpointed)
        fail("process {} is in state {} of the CUDA driver, in which it can't be dumped", pid,
             static_cast<int>(*state));
    Process& process = processes_[pid];
    process.before = *state;
    process.thread = thread;
    libraries_.merge(driverLibraries(pid));
    return true;
}

bool CudaDump::refuseUnsupported(std::span<const HostPid> processes) {
    const auto refuse = [this](const std::vector<Unsupported>& objects) {
        for (const Unsupported& object : objects)
            if (!context_.refusals->attempt([&] { throw Error(0, object.reason).addHint(object.remedy); }))
                refused_ = true;
    };
    std::vector<ProcessFiles> users;
    const std::map<int, std::string> parts = driver_.gpuParts();
    for (const HostPid pid : processes) {
        const bool usesDriver = processes_.contains(pid);
        const bool fresh = examined_.insert(pid).second;
        if (!usesDriver && !fresh)
            continue;
        ProcessFiles files = ProcessFiles::read(pid, usesDriver);
        // In a dry run, the checks of descriptors report the devices of a process without CUDA.
        if (fresh && !context_.pluginsDumpFiles && (usesDriver || !context_.options.dryRun))
            refuse(foreignDevices(files));
        if (fresh && usesDriver)
            refuse(unsupportedObjects(files, parts));
        if (usesDriver)
            users.push_back(std::move(files));
    }
    if (std::atoi(driver_.version().c_str()) < kSharedMemorySince)
        refuse(sharedGpuMemory(users));
    return !refused_;
}

bool CudaDump::quiesce(std::span<const HostPid> processes) {
    bool found = false;
    for (const HostPid pid : processes)
        found = note(pid) || found;
    if (!found || !refuseUnsupported(processes))
        return false;
    if (gpus_.empty())
        readGpus();
    if (storage_ == nullptr && wantsStorage()) {
        storage_ = driver_.storage();
        if (storage_ != nullptr)
            context_.log.info("cuda: contents go straight from GPUs into the images");
    }
    const auto end = Clock::now() + timeoutOf(context_.options);
    while (!lockAll(std::min(end, Clock::now() + kAttempt))) {
        context_.stop.throwIfRequested();
        if (Clock::now() < end)
            continue;
        Error error(ETIMEDOUT, fmt::format("work that was given to GPUs wasn't done within {} s",
                                           timeoutOf(context_.options).count()));
        error.addHint("--cuda-timeout allows for more");
        throw error;
    }
    return true;
}

/// Reads the GPUs and the sizes of their memory. Call it before the freeze: the management library takes tens of
/// milliseconds, which would prolong the freeze.
void CudaDump::readGpus() {
    gpus_ = driver_.gpus();
    const std::map<std::string, GpuMemory> memory = askForMemory(driver_, context_.stop);
    for (Gpu& gpu : gpus_)
        if (const auto known = memory.find(gpu.uuid); known != memory.end())
            gpu.memory = known->second.total;
}

bool CudaDump::lock(HostPid pid, Process& process, std::chrono::milliseconds limit) {
    const auto locked = std::make_shared<bool>(false);
    lockedProcesses_.add(pid, process.before);
    callWithTimeout([&driver = driver_, locked, pid, limit] { *locked = driver.lock(pid.value, limit); },
                    limit + kAnswer, &context_.stop, fmt::format("lock process {}", pid));
    process.locked = *locked;
    return *locked;
}

bool CudaDump::lockAll(Clock::time_point end) {
    for (auto& [pid, process] : processes_) {
        if (process.before != State::Running || process.locked)
            continue;
        context_.log.debug("cuda: locking process {}", pid);
        if (lock(pid, process, until(end)))
            continue;
        context_.log.info("cuda: process {} isn't done with its work yet", pid);
        for (auto& [other, held] : processes_)
            unlock(other, held);
        return false;
    }
    return true;
}

void CudaDump::unlock(HostPid pid, Process& process) noexcept {
    if (!std::exchange(process.locked, false))
        return;
    try {
        // If the tracer has stopped the driver's thread, the driver can't unlock the process. CudaSubsystem::rescue()
        // unlocks the process when it runs again.
        if (isTraceStopped(pid, process.thread))
            return;
        callWithTimeout([&driver = driver_, pid] { driver.unlock(pid.value); }, kAnswer, nullptr,
                        fmt::format("unlock process {}", pid));
    } catch (const std::exception& error) {
        context_.log.error("cuda: {}", error.what());
    }
}

void CudaDump::pause(HostPid pid) {
    // Only processes that started to use CUDA after quiesce() are handled here.
    if (refused_ || !driver_.isPresent() || !note(pid) || !refuseUnsupported({&pid, 1}))
        return;
    Process& process = processes_[pid];
    if (process.before == State::Running && !lock(pid, process, timeoutOf(context_.options)))
        failWith(ETIMEDOUT, "work that process {} has given to GPUs wasn't done within {} s", pid,
                 timeoutOf(context_.options).count());
}

bool CudaDump::wantsStorage() const {
    // If the dump fails or the processes resume, criu reads the contents back from the images. It can't read them back
    // from a page server or a stream.
    const model::Options& options = context_.options;
    return !options.pageServer && !options.stream && !options.streamTo && context_.sinks != nullptr &&
           context_.sinks->takes(memory::MemoryObject::Kind::Device);
}

/// Checkpoints a process in storage mode and saves its contents. Runs in the thread of a driver call.
void CudaDump::storeContents(pid_t pid, Stored& stored) {
    std::exception_ptr failure;
    stored.contents =
        ContentStorage(*storage_, context_.watch, &stored.moved).save(pid, *context_.sinks, nextObject_, failure);
    if (failure)
        rethrow(failure);
    lockedProcesses_.store(HostPid(pid), stored.contents);
}

/// Returns a function that checkpoints a process. After a timeout, the function may still run when this object is
/// destroyed. So without storage mode, the function uses only the driver object, which exists until criu ends.
std::function<void(pid_t)> CudaDump::driverCheckpointCall() {
    std::map<pid_t, std::shared_ptr<Stored>> stored;
    for (const auto& [pid, process] : processes_)
        stored.emplace(pid.value, process.stored);
    return [this, &driver = driver_, stored = std::move(stored)](pid_t pid) {
        if (Stored* const contents = stored.at(pid).get())
            storeContents(pid, *contents);
        else
            driver.checkpoint(pid);
        requireCheckpointed(driver, pid);
    };
}

/// Returns a function that restores a process after a failed dump. After a timeout, the function may still run when
/// this object is destroyed. So without storage mode, the function uses only the driver object, which exists until criu
/// ends.
std::function<void(pid_t)> CudaDump::driverRestoreCall() {
    std::map<pid_t, std::shared_ptr<Stored>> stored;
    for (const auto& [pid, process] : processes_)
        stored.emplace(pid.value, process.stored);
    return [this, &driver = driver_, stored = std::move(stored)](pid_t pid) {
        if (driver.state(pid) != State::Checkpointed)
            return;
        if (const Stored* const contents = stored.at(pid).get())
            ContentStorage(*storage_, context_.watch)
                .load(pid, contents->contents, {}, memory::FilePageSources(context_.images), nullptr);
        else
            driver.restore(pid, {});
    };
}

void CudaDump::checkpointAll(std::span<compel::FrozenProcess* const> all, const device::ProcessCheckpointed& settled) {
    for (compel::FrozenProcess* const frozen : all)
        if (const auto found = processes_.find(HostPid(frozen->pid())); found != processes_.end())
            found->second.frozen = frozen;
    // Removes processes that have ended since quiesce().
    std::erase_if(processes_, [](const auto& each) { return each.second.frozen == nullptr; });
    std::vector<Target> targets;
    std::vector<std::uint64_t> sizes;
    std::deque<StagingMonitor> watches;
    for (auto& [pid, process] : processes_)
        if (process.before != State::Checkpointed) {
            StagingMonitor& watch = watches.emplace_back(pid, context_.log);
            if (storage_ != nullptr)
                process.stored = std::make_shared<Stored>();
            targets.push_back({process.frozen, process.thread, storage_ == nullptr ? &watch : nullptr,
                               storage_ == nullptr ? nullptr : &process.stored->moved});
            sizes.push_back(dataSize(pid));
            lockedProcesses_.add(pid, process.before);
            process.touched = true;
        }
    if (targets.empty())
        return;
    settleOthers(all, settled);
    context_.log.info("cuda: copying out what GPUs hold of {} processes", targets.size());
    const auto start = Clock::now();
    const auto over = [&settled, underWay = targets.size()](HostPid pid) mutable {
        refuseOpenDevices(pid);
        // No call of `settled` for the last process: checkpointAll() returns immediately after it.
        if (--underWay > 0 && settled)
            settled(pid);
    };
    throwFirst(callInParallel(targets, driverCheckpointCall(), {timeoutOf(context_.options), &context_.stop}, over));
    context_.stop.throwIfRequested();
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const HostPid pid(targets[i].process->pid());
        const std::uint64_t now = dataSize(pid);
        Process& process = processes_[pid];
        process.staged = process.stored ? process.stored->moved.load() : now - std::min(now, sizes[i]);
        sum += process.staged;
        if (watches[i].size() != 0)
            context_.log.info("cuda: {} MiB of process {} were made ready for the driver", watches[i].size() >> 20,
                              pid);
    }
    context_.log.info("cuda: {} MiB copied out in {} ms", sum >> 20,
                      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
}

bool CudaDump::hasOnlyInherited(HostPid pid) const {
    std::vector<DeviceDescriptor> open = deviceDescriptors(pid);
    for (const auto& [owner, process] : processes_) {
        const std::vector<DeviceDescriptor> owned = deviceDescriptors(owner);
        std::erase_if(open, [&, ownerPid = owner](const DeviceDescriptor& mine) {
            return std::any_of(owned.begin(), owned.end(), [&](const DeviceDescriptor& theirs) {
                return theirs.path == mine.path && kernel::kcmpFile(pid.value, mine.fd, ownerPid.value, theirs.fd) ==
                                                       std::partial_ordering::equivalent;
            });
        });
    }
    return open.empty();
}

void CudaDump::noteHeir(HostPid pid) {
    const std::size_t count = deviceDescriptors(pid).size();
    if (count == 0)
        return;
    context_.log.info(
        "cuda: process {} inherited {} descriptors of devices that it can't use: a restore opens the devices without "
        "access",
        pid, count);
    heirs_.insert(pid);
}

/// Calls `settled` for the processes that the driver doesn't change. Call this function before the driver checkpoints
/// all other processes: a checkpoint closes devices, and hasOnlyInherited() compares with open devices.
void CudaDump::settleOthers(std::span<compel::FrozenProcess* const> all, const device::ProcessCheckpointed& settled) {
    for (compel::FrozenProcess* const frozen : all) {
        const HostPid pid(frozen->pid());
        const auto known = processes_.find(pid);
        if (known != processes_.end() && known->second.touched)
            continue;
        // A child of a process with CUDA state has inherited open devices. No thread of the driver in the child could
        // close them. The child can't use the devices, because the driver refuses calls in a forked child.
        if (known == processes_.end() && others_.contains(pid) && hasOnlyInherited(pid))
            noteHeir(pid);
        else if (known != processes_.end() || others_.contains(pid))
            refuseOpenDevices(pid);
        if (settled)
            settled(pid);
    }
}

bool CudaDump::isUnusable(const device::MappedDevice& mapped) {
    return heirs_.contains(mapped.pid) && isDevicePath(mapped.vma.name);
}

bool CudaDump::claims(const device::MappedDevice& mapped) {
    return isUnusable(mapped);
}

bool CudaDump::claims(const files::OpenFd& file) {
    return heirs_.contains(file.pid) && (file.info.flags & O_PATH) == 0 && isDevicePath(file.link);
}

bool CudaDump::dump(const files::OpenFd& file, FileId id) {
    inherited_.push_back({id, file.link});
    return true;
}

void CudaDump::dumpLate(HostPid) {
    if (processes_.empty())
        return;
    context_.inventory.names.emplace_back(kInventoryName);
    Arena arena;
    CudaImage image = CUDA_IMAGE__INIT;
    const std::string version = driver_.version();
    image.driver = arena.string(version);
    std::vector<CudaGpu*> gpus;
    for (const Gpu& gpu : gpus_) {
        auto& entry = *gpus.emplace_back(arena.make<CudaGpu>());
        entry.uuid = arena.string(gpu.uuid);
        entry.model = arena.string(gpu.model);
        entry.has_memory = gpu.memory != 0 ? 1 : 0;
        entry.memory = gpu.memory;
    }
    image.n_gpus = gpus.size();
    image.gpus = gpus.data();
    std::vector<CudaProcess*> processes;
    for (const auto& [pid, process] : processes_) {
        auto& entry = *processes.emplace_back(arena.make<CudaProcess>());
        entry.pid = static_cast<std::uint32_t>(inTree(pid).value);
        entry.has_thread = 1;
        entry.thread = static_cast<std::uint32_t>(threadInTree(pid, process.thread).value);
        entry.state = static_cast<std::uint32_t>(process.before);
        entry.has_staged = 1;
        entry.staged = process.staged;
        addContents(entry,
                    process.stored ? std::span<const StoredContent>(process.stored->contents)
                                   : std::span<const StoredContent>(),
                    arena);
    }
    std::vector<CudaLibrary*> libraries;
    for (const Library& library : libraries_) {
        auto& entry = *libraries.emplace_back(arena.make<CudaLibrary>());
        entry.path = arena.string(library.path);
        entry.build_id = arena.string(library.buildId);
        entry.has_inside = entry.inside = library.outside ? 0 : 1;
    }
    std::vector<CudaInheritedFile*> inherited;
    for (const InheritedFile& file : inherited_) {
        auto& entry = *inherited.emplace_back(arena.make<CudaInheritedFile>());
        entry.id = file.id.value;
        entry.path = arena.string(file.path);
    }
    image.n_inherited = inherited.size();
    image.inherited = inherited.data();
    image.n_libraries = libraries.size();
    image.libraries = libraries.data();
    image.n_processes = processes.size();
    image.processes = processes.data();
    device::writeDriverImage(context_.images, kImageName, image.base);
}

void CudaDump::restoreDriverState() {
    // A process whose calls get too little time can't continue, so a busy machine gets as long as --cuda-timeout
    // allows.
    const Patience patience{std::max(kUndone, timeoutOf(context_.options))};
    std::vector<Target> touched;
    for (auto& [pid, process] : processes_) {
        if (process.frozen == nullptr)
            unlock(pid, process);
        else if (process.touched)
            touched.push_back(
                {process.frozen, process.thread, nullptr, process.stored ? &process.stored->moved : nullptr});
    }
    std::vector<std::exception_ptr> failures = callInParallel(touched, driverRestoreCall(), patience);
    std::vector<Target> locked;
    for (auto& [pid, process] : processes_) {
        const auto place = std::find_if(touched.begin(), touched.end(),
                                        [&](const Target& each) { return each.process == process.frozen; });
        const bool isBack = place == touched.end() || !failures[static_cast<std::size_t>(place - touched.begin())];
        if (process.frozen != nullptr && process.locked && isBack)
            locked.push_back({process.frozen, process.thread});
    }
    for (std::exception_ptr& failure : callInParallel(
             locked, [&driver = driver_](pid_t pid) { driver.unlock(pid); }, patience))
        failures.push_back(std::move(failure));
    throwFirst(failures);
}

void CudaDump::release(bool tasksResume) {
    if (tasksResume && !processes_.empty()) {
        restoreDriverState();
        lockedProcesses_.clear();
    }
    // If the processes don't resume, they remain in `lockedProcesses_`. If criu is killed before it kills them, they
    // run again, and the guardian needs the list.
    released_ = true;
}

}  // namespace criu::cuda
