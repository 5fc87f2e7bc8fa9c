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

}  // namespace

CpuCopier::CpuCopier(Kernel& kernel, std::uint32_t renderMinor, device::StopCheck checkStop)
    : kernel_(kernel),
      fd_(kernel.open(renderPath(renderMinor), O_RDWR)),
      drm_(kernel, fd_.get()),
      checkStop_(std::move(checkStop)) {}

template <typename Piece>
void CpuCopier::forEachPiece(int dmabuf, std::uint64_t size, const Piece& piece) {
    const Import buffer(drm_, dmabuf);
    const std::uint64_t offset = drm_.mmapOffset(buffer.handle());
    for (std::uint64_t done = 0; done < size; done += kPiece) {
        checkStop_();
        const std::uint64_t bytes = std::min(kPiece, size - done);
        const Mapping mapping = kernel_.map(fd_.get(), offset + done, pageAlignUp(bytes));
        piece(mapping.bytes().first(bytes), done);
    }
}

void CpuCopier::save(int dmabuf, std::uint64_t size, int file, std::uint64_t fileOffset) {
    forEachPiece(dmabuf, size,
                 [&](std::span<std::byte> memory, std::uint64_t done) { writeAt(file, memory, fileOffset + done); });
}

void CpuCopier::load(int dmabuf, std::uint64_t size, int file, std::uint64_t fileOffset) {
    forEachPiece(dmabuf, size,
                 [&](std::span<std::byte> memory, std::uint64_t done) { readAt(file, memory, fileOffset + done); });
}

}  // namespace criu::amdgpu
