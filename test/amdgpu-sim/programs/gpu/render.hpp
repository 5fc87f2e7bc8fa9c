// SPDX-License-Identifier: GPL-2.0-only
#pragma once
// Wraps the ioctls of a render node (libdrm's amdgpu_drm.h), without libdrm.
#include <libdrm/amdgpu_drm.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gpu {

struct Buffer {
    std::uint32_t handle = 0;
    std::size_t size = 0;
    std::uint64_t address = 0;     // on the GPU; 0 if not mapped there
    std::span<std::byte> bytes{};  // empty if not mapped for the program
};

// Returns the field of copy packets for a number of bytes: one less from GFX9 on.
inline std::uint32_t copy_count(std::uint32_t family, std::uint64_t bytes) {
    return static_cast<std::uint32_t>(family >= AMDGPU_FAMILY_AI ? bytes - 1 : bytes);
}

class Render {
public:
    explicit Render(const std::string& path);
    explicit Render(int fd) : fd_(fd) {}

    int fd() const { return fd_; }

    std::uint32_t family() const;  // AMDGPU_FAMILY_*
    Buffer create(std::size_t size, std::uint64_t domain, std::uint64_t flags = 0,
                  std::uint64_t alignment = 4096) const;
    Buffer userptr(std::span<std::byte> memory) const;
    // Maps the buffer for the program, at an address of the kernel's choice.
    void map(Buffer& buffer) const;
    // Maps a part of the buffer for the GPU; all of it if `size` is 0.
    void map_gpu(Buffer& buffer, std::uint64_t address, std::uint64_t offset = 0, std::uint64_t size = 0) const;
    int export_fd(const Buffer& buffer) const;
    Buffer import_fd(int dmabuf) const;
    void close_handle(std::uint32_t handle) const;
    // Returns 0 or errno.
    int change_handle(std::uint32_t from, std::uint32_t to) const;
    int attempt(unsigned long request, void* arguments) const;

    // Copies between GPU addresses by an SDMA submission and waits for it. It creates the command buffer at
    // `command_address` on the GPU, and frees it, so nothing is left for a dump.
    void copy(std::uint64_t to, std::uint64_t from, std::uint64_t size, std::uint64_t command_address,
              std::span<const std::uint32_t> handles) const;

private:
    void call(unsigned long request, void* arguments, const char* what) const;

    int fd_ = -1;
};

}  // namespace gpu
