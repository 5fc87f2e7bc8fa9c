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
#include "plugins/amdgpu/driver/kernel.hpp"
#include "plugins/amdgpu/driver/uapi.hpp"

namespace criu::amdgpu::test {

/// Render nodes of a driver with buffers in memfds. A DMA-BUF is a copy of the memfd's descriptor. Copy commands are
/// executed when they are submitted; ioctls do the copies of the processor.
class FakeKernel final : public Kernel {
public:
    explicit FakeKernel(std::uint32_t family) : family_(family) {}

    /// Makes call `number` fail, counted from 1 from now on; 0 means none.
    void failCall(unsigned number) {
        failAt_ = number;
        calls_ = 0;
        forGood_ = false;
    }
    /// Makes call `number` and all later calls fail.
    void failFrom(unsigned number) {
        failCall(number);
        forGood_ = true;
    }
    /// Makes copy commands fail with `code`.
    void refuseCopies(int code) { refusal_ = code; }
    /// Makes mapping of other processes' buffers fail.
    void hideMemory() { hidden_ = true; }
    [[nodiscard]] unsigned calls() const { return calls_; }
    [[nodiscard]] unsigned executed() const { return executed_; }

    /// Creates a buffer as another process could.
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
            case uapi::kKfdCriu:
                return ESRCH;  // no process has compute state
            default:
                return ENOTTY;
        }
    }

    std::unique_ptr<Gpu> openGpu(std::uint32_t) override {
        const std::lock_guard lock(mutex_);
        if (failsNow())
            failWith(EIO, "open a GPU");
        return std::make_unique<FakeGpu>(*this);
    }
    void loadLibraries() noexcept override {}

    int tryMap(int, std::uint64_t) override { return EACCES; }
    Mapping map(int fd, std::uint64_t offset, std::size_t size) override {
        const std::lock_guard lock(mutex_);
        if ((offset & 0xffffffff) != 0)
            failWith(EINVAL, "map a buffer from its middle");
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
    [[nodiscard]] std::string nearCpus(std::uint32_t) override { return nearCpus_; }
    void setNearCpus(std::string list) { nearCpus_ = std::move(list); }
    [[nodiscard]] std::string topology() const override { return topology_; }
    void setTopology(std::string root) { topology_ = std::move(root); }

private:
    struct Range {
        int buffer = -1;
        std::uint64_t size = 0;
        std::uint64_t start = 0;  ///< offset in the buffer
    };
    using Space = std::map<std::uint64_t, Range>;
    struct File {
        std::map<std::uint32_t, UniqueFd> buffers;
        std::set<std::uint32_t> imported;
    };

    /// Buffer in the address space of a GPU, behind all earlier ones.
    class FakeBuffer final : public Gpu::Buffer {
    public:
        FakeBuffer(Space& space, UniqueFd fd, std::uint64_t size, std::uint64_t start = 0)
            : space_(space),
              fd_(std::move(fd)),
              size_(size),
              address_(space.empty() ? 0x200000 : space.rbegin()->first + space.rbegin()->second.size) {
            space_[address_] = {fd_.get(), size_, start};
        }
        ~FakeBuffer() override { space_.erase(address_); }
        FakeBuffer(const FakeBuffer&) = delete;
        FakeBuffer& operator=(const FakeBuffer&) = delete;

        void mapHere() {
            void* const at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
            if (at == MAP_FAILED)
                failErrno("map a buffer");
            memory_ = Mapping(at, size_);
        }
        [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
        [[nodiscard]] std::uint64_t address() const noexcept override { return address_; }
        [[nodiscard]] std::span<std::byte> memory() const noexcept override { return memory_.bytes(); }

    private:
        Space& space_;
        UniqueFd fd_;
        std::uint64_t size_;
        std::uint64_t address_;
        Mapping memory_;
    };

    /// Fake GPU; each operation counts as a call of the driver.
    class FakeGpu final : public Gpu {
    public:
        explicit FakeGpu(FakeKernel& kernel) : kernel_(kernel) {}

        [[nodiscard]] std::uint32_t family() const override { return kernel_.family_; }
        std::unique_ptr<Buffer> allocate(std::uint64_t size) override {
            count("make a buffer");
            auto buffer = std::make_unique<FakeBuffer>(space_, makeBuffer(size), size);
            buffer->mapHere();
            return buffer;
        }
        std::unique_ptr<Buffer> importBuffer(int dmabuf, std::uint64_t start, std::uint64_t size) override {
            count("import a DMA-BUF");
            return std::make_unique<FakeBuffer>(space_, UniqueFd(::dup(dmabuf)), size, start);
        }
        std::unique_ptr<BufferList> list(const std::vector<const Buffer*>&) override {
            count("list buffers");
            return std::make_unique<BufferList>();
        }
        std::uint64_t submit(std::uint64_t address, std::uint64_t bytes, const BufferList&) override {
            const std::lock_guard lock(kernel_.mutex_);
            int code = kernel_.failsNow() ? EIO : kernel_.refusal_;
            if (code == 0)
                code = kernel_.execute(space_, address, bytes);
            if (code != 0)
                failWith(code, "submit a copy to the GPU");
            return ++last_;
        }
        bool wait(std::uint64_t, std::uint64_t) override {
            count("wait for the GPU");
            return true;
        }

    private:
        void count(const char* what) {
            const std::lock_guard lock(kernel_.mutex_);
            if (kernel_.failsNow())
                failWith(EIO, "{}", what);
        }

        FakeKernel& kernel_;
        Space space_;
        std::uint64_t last_ = 0;
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

    /// Reads or writes GPU memory; false for memory that isn't mapped.
    static bool access(const Space& space, std::uint64_t at, void* data, std::size_t size, bool write) {
        auto found = space.upper_bound(at);
        if (found == space.begin())
            return false;
        --found;
        const std::uint64_t offset = at - found->first;
        if (offset + size > found->second.size)
            return false;
        const int fd = found->second.buffer;
        const auto place = static_cast<off_t>(found->second.start + offset);
        const ssize_t done = write ? ::pwrite(fd, data, size, place) : ::pread(fd, data, size, place);
        return done == static_cast<ssize_t>(size);
    }

    int execute(const Space& space, std::uint64_t commands, std::uint64_t bytes) {
        std::vector<std::uint32_t> words(bytes / 4);
        if (words.size() % 8 != 0 || !access(space, commands, words.data(), bytes, false))
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
            if (!access(space, from, data.data(), size, false) || !access(space, to, data.data(), size, true))
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
    std::string nearCpus_;
    std::string topology_;
};

}  // namespace criu::amdgpu::test
