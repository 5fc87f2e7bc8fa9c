// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/provider/served_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/lazy/lazy_areas.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "criu/memory/pages/page_reader.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/memory/shmem/segments.hpp"
#include "criu/model/process_tree.hpp"
#include "images/memfd.hpp"
#include "images/mm.hpp"

namespace criu::engine {
namespace {

/// Returns true if the images contain the content of all pages of the range.
bool isComplete(const memory::PageSource& source, memory::Range range) {
    bool complete = true;
    source.forEach(range.start, range.end, [&](const memory::PageJob& job) {
        complete = complete && job.state != memory::PageJob::State::Lazy;
    });
    return complete;
}

/// Returns the mapping of the images that contains the range, or null.
const VmaEntry* mappingWith(const model::Task& task, memory::Range range) {
    const auto vmas = list((*task.mm)->vmas, (*task.mm)->n_vmas);
    const auto found = std::find_if(vmas.begin(), vmas.end(), [&](const VmaEntry* vma) {
        return vma->start <= range.start && range.end <= vma->end;
    });
    return found == vmas.end() ? nullptr : *found;
}

bool isAligned(memory::Range range) noexcept {
    return range.start < range.end && range.start % machinePageSize() == 0 && range.end % machinePageSize() == 0;
}

UniqueFd makeFile(std::uint64_t size) {
    UniqueFd file(sys(::memfd_create("criu-provided", MFD_CLOEXEC | MFD_ALLOW_SEALING), "make a file for memory"));
    sys(::ftruncate(file.get(), static_cast<off_t>(size)), "set its size to {} bytes", size);
    return file;
}

}  // namespace

ServedFile::ServedFile(std::shared_ptr<const memory::PageSource> source, UniqueFd file, memory::Range range, Use use)
    : source_(std::move(source)), range_(range), use_(use), file_(std::move(file)) {}

void ServedFile::fill(StopRequest& stop) {
    const std::lock_guard lock(filling_);
    if (filled_)
        return;
    {
        void* const at =
            ::mmap(nullptr, range_.size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
        if (at == MAP_FAILED)
            failErrno("map {} bytes of a file", range_.size());
        const Mapping mapping(at, range_.size());
        std::vector<memory::PlacedPages> wanted;
        source_->forEach(range_.start, range_.end, [&](const memory::PageJob& job) {
            if (job.present())
                wanted.push_back({job, reinterpret_cast<std::uintptr_t>(at) + (job.address - range_.start)});
        });
        memory::PageReader(*source_, [&] { stop.throwIfRequested(); }).read(wanted);
    }
    // The kernel refuses F_SEAL_WRITE while a shared mapping is writable.
    if (use_ == Use::Copied)
        sys(::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL),
            "seal a file of memory");
    filled_ = true;
}

UniqueFd ServedFile::forRestore() const {
    const std::string path = fmt::format("/proc/self/fd/{}", file_.get());
    return UniqueFd(sys(::open(path.c_str(), (use_ == Use::Copied ? O_RDONLY : O_RDWR) | O_CLOEXEC),
                        "open a file of memory again"));
}

ServedMemory::ServedMemory(const RestoreImages& images, const ImageDir& directory, const memory::PageSources& pages)
    : images_(images), pages_(pages) {
    if (auto reader = directory.openRead(ImageKind::Memfd))
        for (const auto& inode : reader->all<MemfdInodeEntry>())
            memfds_.insert(inode->shmid);
}

std::shared_ptr<ServedFile> ServedMemory::privateMemory(TreePid pid, memory::Range range) {
    const auto task = images_.tree.byPid.find(pid);
    const auto source = images_.pages.find(pid);
    if (task == images_.tree.byPid.end() || source == images_.pages.end() || !task->second->mm)
        failWith(EINVAL, "the images have no memory of process {}", pid);
    if (!isAligned(range))
        failWith(EINVAL, "{:#x}-{:#x} is no range of pages", range.start, range.end);
    const VmaEntry* const vma = mappingWith(*task->second, range);
    if (vma == nullptr)
        failWith(EINVAL, "process {} has no mapping {:#x}-{:#x}", pid, range.start, range.end);
    if (!memory::canBeLazy(*vma) || !memory::hasPrivatePages(*vma) || memory::is(*vma, memory::VmaStatus::Guard) ||
        !isComplete(*source->second, range))
        return nullptr;
    const std::lock_guard lock(mutex_);
    auto& file = files_[{pid, range.start, range.end}];
    if (!file) {
        // The images own the source, and outlive the file.
        const std::shared_ptr<const memory::PageSource> borrowed(std::shared_ptr<void>(), source->second.get());
        file = std::make_shared<ServedFile>(borrowed, makeFile(range.size()), range, ServedFile::Use::Copied);
    }
    return file;
}

std::shared_ptr<ServedFile> ServedMemory::sharedMemory(std::uint64_t shmid, std::uint64_t size) const {
    if (memfds_.contains(shmid))
        return nullptr;
    const memory::Range range{0, size};
    if (!isAligned(range))
        failWith(EINVAL, "{} bytes of shared memory are no whole pages", size);
    std::optional<memory::PageSource> source = pages_.open(memory::MemoryObject::shared(shmid));
    if (!source || !isComplete(*source, range))
        return nullptr;
    if (source->end() > size)
        failWith(EINVAL, "shared memory {} has pages beyond {} bytes", shmid, size);
    return std::make_shared<ServedFile>(std::make_shared<const memory::PageSource>(std::move(*source)),
                                        memory::makeAnonymousShared(size), range, ServedFile::Use::Mapped);
}

}  // namespace criu::engine
