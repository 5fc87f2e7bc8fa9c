// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/cpu_copier.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "criu/base/machine.hpp"
#include "criu/base/whole_io.hpp"

namespace criu::amdgpu {
namespace {

/// Size in bytes of the pieces in which criu copies.
constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;

/// Handle of a foreign buffer. The destructor closes it.
class Import {
public:
    Import(const Drm& drm, int dmabuf) : drm_(drm), handle_(drm.importBuffer(dmabuf)) {}
    ~Import() { drm_.close(handle_); }
    Import(const Import&) = delete;
    Import& operator=(const Import&) = delete;
    [[nodiscard]] std::uint32_t handle() const noexcept { return handle_; }

private:
    const Drm& drm_;
    std::uint32_t handle_;
};

/// Memfd through which pread(2) and pwrite(2) access the mapping of a buffer. If the memory is inaccessible, these
/// calls return EFAULT, and a direct access would raise SIGBUS. Inaccessible memory is video memory outside of the
/// processor's window that the kernel can't move: it is pinned, or no other place is free
/// (amdgpu_bo_fault_reserve_notify() of Linux).
class Bounce {
public:
    explicit Bounce(std::uint64_t size)
        : file_(sys(::memfd_create("criu-gpu-bounce", MFD_CLOEXEC), "make memory to copy through")) {
        const std::uint64_t whole = pageAlignUp(std::max<std::uint64_t>(size, 1));
        sys(::ftruncate(file_.get(), static_cast<off_t>(whole)), "get {} bytes to copy through", whole);
        void* const at = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
        if (at == MAP_FAILED)
            failErrno("map {} bytes to copy through", whole);
        memory_ = Mapping(at, whole);
    }

    [[nodiscard]] std::span<std::byte> first(std::uint64_t size) const noexcept { return memory_.bytes().first(size); }
    void fillFrom(std::span<const std::byte> buffer) const {
        guarded(buffer.size(), [&] { writeAt(file_.get(), buffer, 0); });
    }
    void emptyInto(std::span<std::byte> buffer) const {
        guarded(buffer.size(), [&] { readAt(file_.get(), buffer, 0); });
    }

private:
    template <typename Copy>
    static void guarded(std::uint64_t size, const Copy& copy) {
        try {
            copy();
        } catch (const Error& error) {
            if (error.code() != EFAULT)
                throw;
            failWith(EFAULT, "{} bytes of the buffer can't be moved to where processors reach it", size);
        }
    }

    UniqueFd file_;
    Mapping memory_;
};

/// Calls `move` with the memory and the position of each piece. Maps the buffer from its beginning, because the kernel
/// finds a buffer only by the exact offset of its first page. See drm_gem_mmap() and
/// drm_vma_offset_exact_lookup_locked() of Linux 6.1. Untouched pages of the mapping cost nothing.
template <typename Move>
void forEachPiece(Kernel& kernel, const MappedContent& content, const device::StopCheck& checkStop, const Move& move) {
    if (content.size == 0)
        return;
    const Mapping mapping = kernel.map(content.fd, content.offset, pageAlignUp(content.start + content.size));
    const std::span<std::byte> memory = mapping.bytes().subspan(content.start, content.size);
    for (std::uint64_t done = 0; done < content.size; done += kPiece) {
        checkStop();
        move(memory.subspan(done, std::min(kPiece, content.size - done)), done);
    }
}

}  // namespace

void saveMapped(Kernel& kernel, const MappedContent& from, device::ContentStore& to, std::uint64_t position,
                const device::StopCheck& checkStop) {
    const Bounce bounce(std::min(kPiece, from.size));
    forEachPiece(kernel, from, checkStop, [&](std::span<std::byte> memory, std::uint64_t done) {
        bounce.fillFrom(memory);
        to.write(position + done, bounce.first(memory.size()));
    });
}

void loadMapped(Kernel& kernel, const MappedContent& into, const device::ContentStore& from, std::uint64_t position,
                const device::StopCheck& checkStop) {
    const Bounce bounce(std::min(kPiece, into.size));
    forEachPiece(kernel, into, checkStop, [&](std::span<std::byte> memory, std::uint64_t done) {
        from.read(position + done, bounce.first(memory.size()));
        bounce.emptyInto(memory);
    });
}

CpuCopier::CpuCopier(Kernel& kernel, std::uint32_t renderMinor, device::StopCheck checkStop)
    : kernel_(kernel),
      fd_(kernel.open(renderPath(renderMinor), O_RDWR)),
      drm_(kernel, fd_.get()),
      checkStop_(std::move(checkStop)) {}

void CpuCopier::save(const device::ContentPiece& piece) {
    const Import buffer(drm_, piece.buffer);
    saveMapped(kernel_, {fd_.get(), drm_.mmapOffset(buffer.handle()), piece.size, piece.start}, *piece.store,
               piece.position, checkStop_);
}

void CpuCopier::load(const device::ContentPiece& piece) {
    const Import buffer(drm_, piece.buffer);
    loadMapped(kernel_, {fd_.get(), drm_.mmapOffset(buffer.handle()), piece.size, piece.start}, *piece.store,
               piece.position, checkStop_);
}

}  // namespace criu::amdgpu
