// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/cpu_copier.hpp"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "criu/base/machine.hpp"
#include "criu/base/whole_io.hpp"

namespace criu::amdgpu {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{16} << 20;

/// A handle of a foreign buffer.
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

/// Files are read and written by the kernel straight from and to the mapping, so memory that can't be had is EFAULT to
/// pread(2) and pwrite(2) instead of a SIGBUS: video memory beyond the processor's window that is pinned, or for which
/// there is no room elsewhere (amdgpu_bo_fault_reserve_notify() of Linux).
template <typename Piece>
void forEachPiece(Kernel& kernel, int fd, std::uint64_t at, std::uint64_t size, const device::StopCheck& checkStop,
                  const Piece& piece) {
    for (std::uint64_t done = 0; done < size; done += kPiece) {
        checkStop();
        const std::uint64_t bytes = std::min(kPiece, size - done);
        const Mapping mapping = kernel.map(fd, at + done, pageAlignUp(bytes));
        try {
            piece(mapping.bytes().first(bytes), done);
        } catch (const Error& error) {
            if (error.code() != EFAULT)
                throw;
            failWith(EFAULT, "{} bytes of the buffer can't be moved to where processors reach it", bytes);
        }
    }
}

}  // namespace

void saveMapped(Kernel& kernel, int fd, std::uint64_t at, std::uint64_t size, int file, std::uint64_t fileOffset,
                const device::StopCheck& checkStop) {
    forEachPiece(kernel, fd, at, size, checkStop,
                 [&](std::span<std::byte> memory, std::uint64_t done) { writeAt(file, memory, fileOffset + done); });
}

void loadMapped(Kernel& kernel, int fd, std::uint64_t at, std::uint64_t size, int file, std::uint64_t fileOffset,
                const device::StopCheck& checkStop) {
    forEachPiece(kernel, fd, at, size, checkStop,
                 [&](std::span<std::byte> memory, std::uint64_t done) { readAt(file, memory, fileOffset + done); });
}

CpuCopier::CpuCopier(Kernel& kernel, std::uint32_t renderMinor, device::StopCheck checkStop)
    : kernel_(kernel),
      fd_(kernel.open(renderPath(renderMinor), O_RDWR)),
      drm_(kernel, fd_.get()),
      checkStop_(std::move(checkStop)) {}

void CpuCopier::save(const device::ContentPiece& piece) {
    const Import buffer(drm_, piece.buffer);
    saveMapped(kernel_, fd_.get(), drm_.mmapOffset(buffer.handle()) + piece.start, piece.size, piece.file, piece.offset,
               checkStop_);
}

void CpuCopier::load(const device::ContentPiece& piece) {
    const Import buffer(drm_, piece.buffer);
    loadMapped(kernel_, fd_.get(), drm_.mmapOffset(buffer.handle()) + piece.start, piece.size, piece.file, piece.offset,
               checkStop_);
}

}  // namespace criu::amdgpu
