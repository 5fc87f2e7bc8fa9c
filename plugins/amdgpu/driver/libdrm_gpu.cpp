// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/driver/libdrm_gpu.hpp"

#include <amdgpu.h>
#include <amdgpu_drm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/shared_library.hpp"

namespace criu::amdgpu {
namespace {

constexpr const char* kLibrary = "libdrm_amdgpu.so.1";

/// Alignment of addresses with which the GPU can use large pages.
constexpr std::uint64_t kAddressAlignment = std::uint64_t{2} << 20;

/// Maximum number of rings of a type in the library (amdgpu_internal.h of libdrm 2.4.114).
constexpr std::uint32_t kMostRings = 8;

/// Functions of the library, under their own names.
struct Functions {
    SharedLibrary library{kLibrary, "libdrm-amdgpu1"};
    decltype(&::amdgpu_bo_alloc) amdgpu_bo_alloc = library["amdgpu_bo_alloc"];
    decltype(&::amdgpu_bo_cpu_map) amdgpu_bo_cpu_map = library["amdgpu_bo_cpu_map"];
    decltype(&::amdgpu_bo_cpu_unmap) amdgpu_bo_cpu_unmap = library["amdgpu_bo_cpu_unmap"];
    decltype(&::amdgpu_bo_free) amdgpu_bo_free = library["amdgpu_bo_free"];
    decltype(&::amdgpu_bo_import) amdgpu_bo_import = library["amdgpu_bo_import"];
    decltype(&::amdgpu_bo_list_create) amdgpu_bo_list_create = library["amdgpu_bo_list_create"];
    decltype(&::amdgpu_bo_list_destroy) amdgpu_bo_list_destroy = library["amdgpu_bo_list_destroy"];
    decltype(&::amdgpu_bo_va_op) amdgpu_bo_va_op = library["amdgpu_bo_va_op"];
    decltype(&::amdgpu_cs_ctx_create) amdgpu_cs_ctx_create = library["amdgpu_cs_ctx_create"];
    decltype(&::amdgpu_cs_ctx_free) amdgpu_cs_ctx_free = library["amdgpu_cs_ctx_free"];
    decltype(&::amdgpu_cs_query_fence_status) amdgpu_cs_query_fence_status = library["amdgpu_cs_query_fence_status"];
    decltype(&::amdgpu_cs_submit) amdgpu_cs_submit = library["amdgpu_cs_submit"];
    decltype(&::amdgpu_device_deinitialize) amdgpu_device_deinitialize = library["amdgpu_device_deinitialize"];
    decltype(&::amdgpu_device_get_fd) amdgpu_device_get_fd = library["amdgpu_device_get_fd"];
    decltype(&::amdgpu_device_initialize) amdgpu_device_initialize = library["amdgpu_device_initialize"];
    decltype(&::amdgpu_query_hw_ip_info) amdgpu_query_hw_ip_info = library["amdgpu_query_hw_ip_info"];
    decltype(&::amdgpu_query_gpu_info) amdgpu_query_gpu_info = library["amdgpu_query_gpu_info"];
    decltype(&::amdgpu_va_range_alloc) amdgpu_va_range_alloc = library["amdgpu_va_range_alloc"];
    decltype(&::amdgpu_va_range_free) amdgpu_va_range_free = library["amdgpu_va_range_free"];
};

/// Throws Error if `result` is negative. The library returns negative errno values.
template <typename... Args>
void check(int result, Located<Args...> what, Args&&... args) {
    if (result != 0)
        throw Error(-result, fmt::format(what.text, std::forward<Args>(args)...), what.where);
}

dev_t deviceOf(int fd) {
    struct stat status {};
    sys(::fstat(fd, &status), "look at a render node");
    return status.st_rdev;
}

/// libdrm_amdgpu's object for a GPU. A process has only one object and one address space for each GPU, so the library
/// allocates the addresses. The constructor and the destructor lock `making`: libdrm 2.4.114 drops the last reference
/// of an object before it removes the object from its list. Another thread that finds it there fails an assertion
/// (update_references()).
class Device {
public:
    Device(const UniqueFd& node, std::mutex& making) : making_(making) {
        const std::lock_guard lock(making_);
        std::uint32_t major = 0;
        std::uint32_t minor = 0;
        check(lib_.amdgpu_device_initialize(node.get(), &major, &minor, &handle_), "open a GPU by libdrm_amdgpu");
        // The library compares nodes by sysfs. If it can't read sysfs, it treats all nodes as the same GPU.
        try {
            if (deviceOf(lib_.amdgpu_device_get_fd(handle_)) != deviceOf(node.get()))
                fail("libdrm_amdgpu takes two GPUs for the same; is there a /sys?");
        } catch (...) {
            lib_.amdgpu_device_deinitialize(handle_);
            throw;
        }
    }
    ~Device() {
        const std::lock_guard lock(making_);
        lib_.amdgpu_device_deinitialize(handle_);
    }
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    [[nodiscard]] const Functions& lib() const noexcept { return lib_; }
    [[nodiscard]] amdgpu_device_handle get() const noexcept { return handle_; }

private:
    Functions lib_;
    std::mutex& making_;
    amdgpu_device_handle handle_ = nullptr;
};

/// Buffer with a part that is mapped in the GPU's address space. The constructor becomes the owner of `handle`.
class LibdrmBuffer final : public Gpu::Buffer {
public:
    LibdrmBuffer(const Device& device, amdgpu_bo_handle handle, std::uint64_t start, std::uint64_t size)
        : lib_(device.lib()), handle_(handle), start_(start), size_(size) {
        try {
            check(lib_.amdgpu_va_range_alloc(device.get(), amdgpu_gpu_va_range_general, size, kAddressAlignment, 0,
                                             &address_, &range_, 0),
                  "reserve {} bytes of a GPU's address space", size);
            check(lib_.amdgpu_bo_va_op(handle, start, size, address_, 0, AMDGPU_VA_OP_MAP),
                  "map {} bytes at GPU address {:#x}", size, address_);
            mapped_ = true;
        } catch (...) {
            drop();
            throw;
        }
    }
    ~LibdrmBuffer() override { drop(); }
    LibdrmBuffer(const LibdrmBuffer&) = delete;
    LibdrmBuffer& operator=(const LibdrmBuffer&) = delete;

    /// Maps the buffer so that the processor can access it.
    void mapHere() {
        void* at = nullptr;
        check(lib_.amdgpu_bo_cpu_map(handle_, &at), "map {} bytes of GPU memory", size_);
        memory_ = {static_cast<std::byte*>(at), size_};
    }

    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
    [[nodiscard]] std::uint64_t address() const noexcept override { return address_; }
    [[nodiscard]] std::span<std::byte> memory() const noexcept override { return memory_; }
    [[nodiscard]] amdgpu_bo_handle handle() const noexcept { return handle_; }

private:
    void drop() noexcept {
        if (!memory_.empty())
            lib_.amdgpu_bo_cpu_unmap(handle_);
        if (mapped_)
            lib_.amdgpu_bo_va_op(handle_, start_, size_, address_, 0, AMDGPU_VA_OP_UNMAP);
        if (range_ != nullptr)
            lib_.amdgpu_va_range_free(range_);
        lib_.amdgpu_bo_free(handle_);
    }

    const Functions& lib_;
    amdgpu_bo_handle handle_;
    std::uint64_t start_;  ///< position of the mapped part in the buffer, in bytes
    std::uint64_t size_;
    std::uint64_t address_ = 0;
    amdgpu_va_handle range_ = nullptr;
    bool mapped_ = false;
    std::span<std::byte> memory_;
};

class LibdrmList final : public Gpu::BufferList {
public:
    LibdrmList(const Device& device, const std::vector<const Gpu::Buffer*>& buffers) : lib_(device.lib()) {
        std::vector<amdgpu_bo_handle> handles;
        for (const Gpu::Buffer* const buffer : buffers)
            handles.push_back(static_cast<const LibdrmBuffer*>(buffer)->handle());
        check(lib_.amdgpu_bo_list_create(device.get(), static_cast<std::uint32_t>(handles.size()), handles.data(),
                                         nullptr, &list_),
              "list buffers for the GPU");
    }
    ~LibdrmList() override { lib_.amdgpu_bo_list_destroy(list_); }
    LibdrmList(const LibdrmList&) = delete;
    LibdrmList& operator=(const LibdrmList&) = delete;

    [[nodiscard]] amdgpu_bo_list_handle get() const noexcept { return list_; }

private:
    const Functions& lib_;
    amdgpu_bo_list_handle list_ = nullptr;
};

/// Returns the rings (queues) of the copy engines: one ring for each engine.
std::vector<std::uint32_t> copyRings(const Device& device) {
    drm_amdgpu_info_hw_ip info{};
    check(device.lib().amdgpu_query_hw_ip_info(device.get(), AMDGPU_HW_IP_DMA, 0, &info),
          "ask for the copy engines of a GPU");
    std::vector<std::uint32_t> rings;
    for (std::uint32_t ring = 0; ring < kMostRings; ++ring)
        if ((info.available_rings & (1U << ring)) != 0)
            rings.push_back(ring);
    if (rings.empty())
        // With amdgpu.user_queue=2 (Linux 6.16), programs may not use rings. The errno isn't ENODEV, because ENODEV
        // means a removed card.
        failWith(EOPNOTSUPP, "find a copy engine of the GPU that programs may use");
    return rings;
}

}  // namespace

/// GPU with one context that all copiers share. The library numbers submissions of each ring under a lock.
class LibdrmGpus::Opened {
public:
    Opened(const UniqueFd& node, std::mutex& making) : device_(node, making), rings_(copyRings(device_)) {
        amdgpu_gpu_info info{};
        check(device_.lib().amdgpu_query_gpu_info(device_.get(), &info), "ask for the properties of a GPU");
        family_ = info.family_id;
        check(device_.lib().amdgpu_cs_ctx_create(device_.get(), &context_), "make a GPU context");
    }
    ~Opened() { device_.lib().amdgpu_cs_ctx_free(context_); }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;

    [[nodiscard]] const Device& device() const noexcept { return device_; }
    [[nodiscard]] amdgpu_context_handle context() const noexcept { return context_; }
    [[nodiscard]] std::uint32_t family() const noexcept { return family_; }
    /// Returns a ring, each time that of the next engine.
    [[nodiscard]] std::uint32_t nextRing() noexcept { return rings_[users_++ % rings_.size()]; }

private:
    Device device_;
    std::vector<std::uint32_t> rings_;
    std::atomic<std::size_t> users_{0};
    std::uint32_t family_ = 0;
    amdgpu_context_handle context_ = nullptr;
};

namespace {

class LibdrmGpu final : public Gpu {
public:
    explicit LibdrmGpu(std::shared_ptr<LibdrmGpus::Opened> opened)
        : opened_(std::move(opened)), device_(opened_->device()), lib_(device_.lib()), ring_(opened_->nextRing()) {}

    [[nodiscard]] std::uint32_t family() const override { return opened_->family(); }

    std::unique_ptr<Buffer> allocate(std::uint64_t size) override {
        amdgpu_bo_alloc_request request{};
        request.alloc_size = size;
        request.phys_alignment = kGpuPageSize;
        request.preferred_heap = AMDGPU_GEM_DOMAIN_GTT;
        request.flags = AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED;
        amdgpu_bo_handle handle = nullptr;
        check(lib_.amdgpu_bo_alloc(device_.get(), &request, &handle), "make a buffer of {} bytes", size);
        auto buffer = std::make_unique<LibdrmBuffer>(device_, handle, 0, size);
        buffer->mapHere();
        return buffer;
    }

    std::unique_ptr<Buffer> importBuffer(int dmabuf, std::uint64_t start, std::uint64_t size) override {
        amdgpu_bo_import_result result{};
        check(lib_.amdgpu_bo_import(device_.get(), amdgpu_bo_handle_type_dma_buf_fd, static_cast<std::uint32_t>(dmabuf),
                                    &result),
              "import a DMA-BUF");
        return std::make_unique<LibdrmBuffer>(device_, result.buf_handle, start, size);
    }

    std::unique_ptr<BufferList> list(const std::vector<const Buffer*>& buffers) override {
        return std::make_unique<LibdrmList>(device_, buffers);
    }

    std::uint64_t submit(std::uint64_t address, std::uint64_t bytes, const BufferList& buffers) override {
        amdgpu_cs_ib_info commands{};
        commands.ib_mc_address = address;
        commands.size = static_cast<std::uint32_t>(bytes / sizeof(std::uint32_t));
        amdgpu_cs_request request{};
        request.ip_type = AMDGPU_HW_IP_DMA;
        request.ring = ring_;
        request.resources = static_cast<const LibdrmList&>(buffers).get();
        request.number_of_ibs = 1;
        request.ibs = &commands;
        check(lib_.amdgpu_cs_submit(opened_->context(), 0, &request, 1), "submit a copy to the GPU");
        return request.seq_no;
    }

    bool wait(std::uint64_t number, std::uint64_t deadline) override {
        amdgpu_cs_fence fence{};
        fence.context = opened_->context();
        fence.ip_type = AMDGPU_HW_IP_DMA;
        fence.ring = ring_;
        fence.fence = number;
        std::uint32_t reached = 0;
        check(lib_.amdgpu_cs_query_fence_status(&fence, deadline, AMDGPU_QUERY_FENCE_TIMEOUT_IS_ABSOLUTE, &reached),
              "wait for the GPU");
        return reached != 0;
    }

private:
    std::shared_ptr<LibdrmGpus::Opened> opened_;
    const Device& device_;
    const Functions& lib_;
    std::uint32_t ring_;
};

}  // namespace

std::unique_ptr<Gpu> LibdrmGpus::open(std::uint32_t renderMinor, const std::function<UniqueFd()>& openNode) {
    const std::lock_guard lock(opening_);
    if (pid_ != ::getpid()) {
        // A child of fork(2) has copies of the parent's objects, but not its threads. So the child opens new objects.
        pid_ = ::getpid();
        opened_.clear();
    }
    std::weak_ptr<Opened>& known = opened_[renderMinor];
    std::shared_ptr<Opened> opened = known.lock();
    if (!opened)
        known = opened = std::make_shared<Opened>(openNode(), making_);
    return std::make_unique<LibdrmGpu>(std::move(opened));
}

void loadLibdrm() noexcept {
    (void)SharedLibrary::isInstalled(kLibrary);
}

}  // namespace criu::amdgpu
