// SPDX-License-Identifier: GPL-2.0-only
#pragma once
// Wraps the ioctls of /dev/kfd (linux/kfd_ioctl.h). Destructors release nothing unless they say so: the driver must
// clean up after the process.
#include <linux/kfd_ioctl.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "gpu/topology.hpp"

namespace gpu {

class Kfd;

constexpr std::size_t kPage = 4096;
constexpr std::size_t kDoorbellBytes = 8192;
constexpr std::uint32_t kVram = KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;
constexpr std::uint32_t kVisibleVram = kVram | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC;
constexpr std::uint32_t kGtt =
    KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | KFD_IOC_ALLOC_MEM_FLAGS_COHERENT;
constexpr std::uint32_t kUserptr = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;

// Memory of a GPU. `address` is its address for GPUs and, if it is visible, for the program.
struct Memory {
    std::uint64_t handle = 0;
    std::uint64_t address = 0;
    std::size_t size = 0;
    bool visible = false;

    std::span<std::byte> bytes() const { return {reinterpret_cast<std::byte*>(address), size}; }
};

// A GPU as the process knows it. The id stays the same wherever the process is restored.
struct Gpu {
    std::uint32_t id = 0;
    int render_fd = -1;
    std::uint32_t family = 0;  // AMDGPU_FAMILY_*
    Node node{};               // at the start of the program
};

class Kfd {
public:
    // Opens /dev/kfd and all GPUs of the topology. Throws Failure.
    Kfd();

    int fd() const { return fd_; }
    const std::vector<Gpu>& gpus() const { return gpus_; }

    // Calls ioctl(2), which must succeed.
    template <typename T>
    void call(unsigned long request, T& arguments, const char* what) const {
        call_raw(request, &arguments, what);
    }
    // Returns 0 or errno.
    template <typename T>
    int attempt(unsigned long request, T& arguments) const {
        return attempt_raw(request, &arguments);
    }

    // Allocates at an address of the kernel's choice. Maps the memory for the GPU, and for the program if it is
    // visible.
    Memory allocate(const Gpu& gpu, std::size_t size, std::uint32_t flags) const;
    // Makes page-aligned memory of the process available to the GPU, at the same address.
    Memory userptr(const Gpu& gpu, std::span<std::byte> memory) const;
    void map(const Memory& memory, std::initializer_list<std::uint32_t> gpu_ids) const;
    void unmap(const Memory& memory, std::initializer_list<std::uint32_t> gpu_ids) const;
    void free(const Memory& memory) const;

    std::uint32_t create_event(bool auto_reset) const;
    void set_event(std::uint32_t id) const;
    void reset_event(std::uint32_t id) const;
    // Returns KFD_IOC_WAIT_RESULT_*.
    std::uint32_t wait_events(std::span<const std::uint32_t> ids, bool all, std::uint32_t milliseconds) const;

    void set_svm(std::span<std::byte> memory, std::span<const kfd_ioctl_svm_attribute> attributes) const;
    std::vector<kfd_ioctl_svm_attribute> get_svm(std::span<std::byte> memory,
                                                 std::span<const kfd_ioctl_svm_attribute> attributes) const;

private:
    void call_raw(unsigned long request, void* arguments, const char* what) const;
    int attempt_raw(unsigned long request, void* arguments) const;
    int svm(std::uint32_t operation, std::span<std::byte> memory, std::vector<std::byte>& arguments,
            std::span<const kfd_ioctl_svm_attribute> attributes) const;

    int fd_ = -1;
    std::vector<Gpu> gpus_;
};

}  // namespace gpu
