// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "plugins/amdgpu/kernel.hpp"
#include "plugins/amdgpu/uapi.hpp"

namespace criu::amdgpu::test {

/// Render nodes of a driver that has its buffers in memfds; a DMA-BUF is a copy of such a descriptor. Copy commands are
/// executed when they are submitted.
class FakeKernel final : public Kernel {
public:
    explicit FakeKernel(std::uint32_t family) : family_(family) {}

    /// The call of this number (from 1) fails, counted from now on; 0: none.
    void failCall(unsigned number) {
        failAt_ = number;
        calls_ = 0;
        forGood_ = false;
    }
    /// It and all after it.
    void failFrom(unsigned number) {
        failCall(number);
        forGood_ = true;
    }
    /// Copies aren't taken.
    void refuseCopies(int code) { refusal_ = code; }
    /// Buffers of others can't be mapped.
    void hideMemory() { hidden_ = true; }
    [[nodiscard]] unsigned calls() const { return calls_; }
    [[nodiscard]] unsigned executed() const { return executed_; }

    /// A buffer as another process might have made it.
    static UniqueFd makeBuffer(std::uint64_t size) {
        UniqueFd fd(sys(::memfd_create("buffer", MFD_CLOEXEC), "make a buffer"));
        sys(::ftruncate(fd.get(), static_cast<off_t>(size)), "size a buffer");
        return fd;
    }

    UniqueFd open(const std::string& path, int) override {
        if (failsNow())
            failWith(ENODEV, "open {}", path);
        UniqueFd fd = makeBuffer(0);
        const std::lock_guard lock(mutex_);
        files_[inode(fd.get())];
        return fd;
    }

    int tryIoctl(int fd, unsigned long request, void* arguments) override {
        const std::lock_guard lock(mutex_);
        const bool cleaning = request == DRM_IOCTL_GEM_CLOSE;
        if (!cleaning && failsNow())
            return EIO;
        File& file = files_.at(inode(fd));
        switch (request) {
            case DRM_IOCTL_AMDGPU_INFO: {
                auto& args = *static_cast<drm_amdgpu_info*>(arguments);
                auto& device = *reinterpret_cast<drm_amdgpu_info_device*>(args.return_pointer);
                device.family = family_;
                device.virtual_address_offset = 0x200000;
                return 0;
            }
            case DRM_IOCTL_AMDGPU_CTX:
                static_cast<drm_amdgpu_ctx*>(arguments)->out.alloc.ctx_id = 1;
                return 0;
            case DRM_IOCTL_AMDGPU_GEM_CREATE: {
                auto& args = *static_cast<drm_amdgpu_gem_create*>(arguments);
                args.out.handle = add(file, makeBuffer(args.in.bo_size));
                return 0;
            }
            case DRM_IOCTL_AMDGPU_GEM_MMAP: {
                auto& args = *static_cast<drm_amdgpu_gem_mmap*>(arguments);
                if (hidden_ && file.imported.contains(args.in.handle))
                    return EPERM;
                args.out.addr_ptr = std::uint64_t{args.in.handle} << 32;
                return 0;
            }
            case DRM_IOCTL_PRIME_FD_TO_HANDLE: {
                auto& args = *static_cast<drm_prime_handle*>(arguments);
                args.handle = add(file, UniqueFd(::dup(args.fd)));
                file.imported.insert(args.handle);
                return 0;
            }
            case DRM_IOCTL_GEM_CLOSE:
                file.buffers.erase(static_cast<drm_gem_close*>(arguments)->handle);
                return 0;
            case DRM_IOCTL_AMDGPU_GEM_VA: {
                auto& args = *static_cast<drm_amdgpu_gem_va*>(arguments);
                if (args.operation == AMDGPU_VA_OP_UNMAP)
                    return file.space.erase(args.va_address) == 1 ? 0 : ENOENT;
                for (const auto& [at, range] : file.space)
                    if (args.va_address < at + range.size && at < args.va_address + args.map_size)
                        return EBUSY;
                file.space[args.va_address] = {args.handle, args.map_size};
                return 0;
            }
            case DRM_IOCTL_AMDGPU_BO_LIST: {
                auto& args = *static_cast<drm_amdgpu_bo_list*>(arguments);
                if (args.in.operation == AMDGPU_BO_LIST_OP_CREATE)
                    args.out.list_handle = 1;
                return 0;
            }
            case DRM_IOCTL_AMDGPU_CS:
                return refusal_ != 0 ? refusal_ : execute(file, *static_cast<drm_amdgpu_cs*>(arguments));
            case DRM_IOCTL_AMDGPU_WAIT_CS:
                static_cast<drm_amdgpu_wait_cs*>(arguments)->out.status = 0;
                return 0;
            case uapi::kKfdCriu:
                return ESRCH;  // no process has compute state
            default:
                return ENOTTY;
        }
    }

    Mapping map(int fd, std::uint64_t offset, std::size_t size) override {
        const std::lock_guard lock(mutex_);
        const UniqueFd& buffer = files_.at(inode(fd)).buffers.at(static_cast<std::uint32_t>(offset >> 32));
        void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, buffer.get(),
                                static_cast<off_t>(offset & 0xffffffff));
        if (at == MAP_FAILED)
            failErrno("map a buffer");
        return {at, size};
    }

    struct stat status(int fd) override {
        struct stat status {};
        sys(::fstat(fd, &status), "look at a descriptor");
        return status;
    }
    dev_t device(const std::string&) override { return 0; }
    [[nodiscard]] std::string topology() const override { return topology_; }
    void setTopology(std::string root) { topology_ = std::move(root); }

private:
    struct Range {
        std::uint32_t handle = 0;
        std::uint64_t size = 0;
    };
    struct File {
        std::map<std::uint32_t, UniqueFd> buffers;
        std::set<std::uint32_t> imported;
        std::map<std::uint64_t, Range> space;
    };

    bool failsNow() {
        ++calls_;
        return failAt_ != 0 && (forGood_ ? calls_ >= failAt_ : calls_ == failAt_);
    }

    static ino_t inode(int fd) {
        struct stat status {};
        sys(::fstat(fd, &status), "look at a descriptor");
        return status.st_ino;
    }

    static std::uint32_t add(File& file, UniqueFd buffer) {
        std::uint32_t handle = 1;
        while (file.buffers.contains(handle))
            ++handle;
        file.buffers[handle] = std::move(buffer);
        return handle;
    }

    /// Reads or writes GPU memory; false for what isn't mapped.
    static bool access(File& file, std::uint64_t at, void* data, std::size_t size, bool write) {
        auto found = file.space.upper_bound(at);
        if (found == file.space.begin())
            return false;
        --found;
        const std::uint64_t offset = at - found->first;
        if (offset + size > found->second.size)
            return false;
        const int fd = file.buffers.at(found->second.handle).get();
        const ssize_t done = write ? ::pwrite(fd, data, size, static_cast<off_t>(offset))
                                   : ::pread(fd, data, size, static_cast<off_t>(offset));
        return done == static_cast<ssize_t>(size);
    }

    int execute(File& file, const drm_amdgpu_cs& args) {
        const auto* const chunks = reinterpret_cast<const std::uint64_t*>(args.in.chunks);
        const auto& chunk = *reinterpret_cast<const drm_amdgpu_cs_chunk*>(chunks[0]);
        const auto& ib = *reinterpret_cast<const drm_amdgpu_cs_chunk_ib*>(chunk.chunk_data);
        std::vector<std::uint32_t> words(ib.ib_bytes / 4);
        if (ib.ip_type != AMDGPU_HW_IP_DMA || words.size() % 8 != 0 ||
            !access(file, ib.va_start, words.data(), ib.ib_bytes, false))
            return EINVAL;
        for (std::size_t at = 0; at < words.size();) {
            if (words[at] == 0) {
                ++at;
                continue;
            }
            if (words[at] != 1 || at + 7 > words.size())
                return EINVAL;
            const std::uint64_t size = std::uint64_t{words[at + 1]} + (family_ >= AMDGPU_FAMILY_AI ? 1 : 0);
            const std::uint64_t from = words[at + 3] | std::uint64_t{words[at + 4]} << 32;
            const std::uint64_t to = words[at + 5] | std::uint64_t{words[at + 6]} << 32;
            std::vector<std::byte> data(size);
            if (!access(file, from, data.data(), size, false) || !access(file, to, data.data(), size, true))
                return EFAULT;
            at += 7;
            ++executed_;
        }
        return 0;
    }

    std::uint32_t family_;
    std::mutex mutex_;
    std::map<ino_t, File> files_;
    unsigned calls_ = 0;
    unsigned failAt_ = 0;
    bool forGood_ = false;
    int refusal_ = 0;
    bool hidden_ = false;
    unsigned executed_ = 0;
    std::string topology_;
};

}  // namespace criu::amdgpu::test
