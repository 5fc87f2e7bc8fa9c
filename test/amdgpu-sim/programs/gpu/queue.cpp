// SPDX-License-Identifier: GPL-2.0-only
#include "gpu/queue.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>

#include "gpu/render.hpp"
#include "gpu/subject.hpp"

namespace gpu {

namespace {

constexpr std::uint32_t kAtomicAdd64 = 0x2f;
constexpr std::uint32_t kSdmaCopy = 1;
constexpr std::uint32_t kSdmaTrap = 6;
constexpr std::uint32_t kSdmaAtomic = 10;
constexpr std::uint64_t kSdmaCopyMax = 1u << 20;
constexpr auto kPatience = std::chrono::seconds(20);

std::uint32_t low(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}

std::uint32_t high(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32);
}

// Sizes of the memory of a compute queue on each die.
struct SaveArea {
    std::uint64_t control_stack = 0;
    std::uint64_t all = 0;
    std::uint64_t debugger = 0;
};

std::uint64_t page_align(std::uint64_t size) {
    return (size + kPage - 1) / kPage * kPage;
}

// Returns the sizes that the driver requires since Linux 6.12. Topology nodes have them as cwsr_size and ctl_stack_size
// since a commit of 2026 ("Export the cwsr_size and ctl_stack_size to userspace", 71776e0965f9). Without these
// properties a program computes them as the driver does (kfd_queue_ctx_save_restore_size() of kfd_queue.c). A larger
// area is accepted.
SaveArea save_area_of(const Node& node) {
    const std::uint64_t version = node.property("gfx_target_version");
    const std::uint64_t dies = std::max<std::uint64_t>(node.property("num_xcc"), 1);
    const std::uint64_t units =
        node.property("simd_count") / std::max<std::uint64_t>(node.property("simd_per_cu"), 1) / dies;
    const bool rdna = version >= 100100;
    const bool cdna5 = version == 120500 || version == 120501;
    const std::uint64_t engines =
        node.property("array_count") / std::max<std::uint64_t>(node.property("simd_arrays_per_engine"), 1);
    const std::uint64_t waves = rdna ? units * (cdna5 ? 64 : 32) : std::min(units * 40, engines * 512);
    std::uint64_t registers = 0x40000;
    if (version / 100 == 904 || version == 90500 || version == 90010 || version == 90008 || cdna5) {
        registers = 0x80000;
    } else if (version == 110000 || version == 110001 || version == 110501 || version == 120000 || version == 120001) {
        registers = 0x60000;
    }
    const std::uint64_t local = version == 90500 || cdna5 ? node.property("lds_size_in_kb") << 10 : 0x10000;
    SaveArea area;
    area.control_stack = page_align(40 + waves * (rdna ? 12 : 8) + 8);
    if (version / 10000 == 10) {
        area.control_stack = std::min<std::uint64_t>(area.control_stack, 0x7000);
    }
    area.all = area.control_stack +
               page_align(units * (registers + (cdna5 ? 0x8000 : 0x4000) + local + (cdna5 ? 0x8000 : 0x1000)));
    area.debugger = (waves * 32 + 63) / 64 * 64;
    if (node.property("ctl_stack_size") != 0 && node.property("cwsr_size") != 0) {
        area.control_stack = node.property("ctl_stack_size");
        area.all = node.property("cwsr_size");
    }
    return area;
}

std::uint32_t type_of(Queue::Kind kind) {
    switch (kind) {
        case Queue::Kind::kSdma:
            return KFD_IOC_QUEUE_TYPE_SDMA;
        case Queue::Kind::kPm4:
            return KFD_IOC_QUEUE_TYPE_COMPUTE;
        case Queue::Kind::kAql:
            return KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
    }
    throw Failure("a kind of queue that isn't known");
}

}  // namespace

Queue::Queue(const Kfd& kfd, const Gpu& gpu, Kind kind, std::uint32_t ring_size)
    : kfd_(kfd),
      kind_(kind),
      family_(gpu.family),
      ring_(kfd.allocate(gpu, ring_size, kGtt)),
      indexes_(kfd.allocate(gpu, kPage, kGtt)) {
    read_ = reinterpret_cast<volatile std::uint64_t*>(indexes_.address);
    write_ = read_ + 8;
    if (kind == Kind::kAql) {  // marks free packets as invalid
        for (std::size_t at = 0; at < ring_size; at += 64) {
            const std::uint16_t invalid = 1;
            std::memcpy(ring_.bytes().data() + at, &invalid, sizeof(invalid));
        }
    }
    kfd_ioctl_create_queue_args arguments{};
    arguments.ring_base_address = ring_.address;
    arguments.ring_size = ring_size;
    arguments.read_pointer_address = reinterpret_cast<std::uint64_t>(read_);
    arguments.write_pointer_address = reinterpret_cast<std::uint64_t>(write_);
    arguments.gpu_id = gpu.id;
    arguments.queue_type = type_of(kind);
    arguments.queue_percentage = 100;
    arguments.queue_priority = 7;
    if (kind != Kind::kSdma) {
        add_save_area(gpu, arguments);
    }
    kfd.call(AMDKFD_IOC_CREATE_QUEUE, arguments, "CREATE_QUEUE");
    id_ = arguments.queue_id;
    // Each queue maps the doorbells of the process by its own object of the driver.
    doorbells_ = kfd.allocate(gpu, kDoorbellBytes, KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE);
    doorbell_ = reinterpret_cast<volatile std::uint64_t*>(doorbells_.address +
                                                          (arguments.doorbell_offset & (kDoorbellBytes - 1)));
}

// Uses process memory that stays mapped for the GPU, as ROCm's runtime does. It takes no room until waves are saved.
void Queue::add_save_area(const Gpu& gpu, kfd_ioctl_create_queue_args& arguments) {
    const SaveArea sizes = save_area_of(gpu.node);
    const std::uint64_t dies = std::max<std::uint64_t>(gpu.node.property("num_xcc"), 1);
    const std::uint64_t size = page_align((sizes.all + sizes.debugger) * dies);
    void* const place = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    expect(place != MAP_FAILED, "mmap of the area for waves");
    area_ = {static_cast<std::byte*>(place), size};
    const std::array<kfd_ioctl_svm_attribute, 2> attributes{
        {{KFD_IOCTL_SVM_ATTR_ACCESS, gpu.id},
         {KFD_IOCTL_SVM_ATTR_SET_FLAGS,
          KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_COHERENT | KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED}}};
    kfd_.set_svm(area_, attributes);
    eop_ = kfd_.allocate(gpu, gpu.node.property("gfx_target_version") == 80002 ? 0x8000 : kPage, kGtt);
    arguments.eop_buffer_address = eop_.address;
    arguments.eop_buffer_size = eop_.size;
    arguments.ctx_save_restore_address = reinterpret_cast<std::uint64_t>(place);
    arguments.ctx_save_restore_size = static_cast<std::uint32_t>(sizes.all);
    arguments.ctl_stack_size = static_cast<std::uint32_t>(sizes.control_stack);
}

std::uint64_t Queue::unit() const {
    return kind_ == Kind::kSdma ? 1 : kind_ == Kind::kPm4 ? 4 : 64;
}

std::uint64_t Queue::done() const {
    return *read_;
}

bool Queue::try_put(std::span<const std::uint32_t> packet) {
    const std::uint64_t size = packet.size_bytes();
    if ((put_ - done()) * unit() + size > ring_.size) {
        return false;
    }
    std::uint64_t at = put_ * unit() % ring_.size;
    for (const std::uint32_t word : packet) {
        std::memcpy(ring_.bytes().data() + at, &word, 4);
        at = (at + 4) % ring_.size;
    }
    put_ += size / unit();
    return true;
}

void Queue::put(std::span<const std::uint32_t> packet) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!try_put(packet)) {
        ring();
        expect(std::chrono::steady_clock::now() < end, "a queue stands still: its ring stays full");
        usleep(500);
    }
}

bool Queue::try_count(std::uint64_t address) {
    if (kind_ == Kind::kSdma) {
        const std::array<std::uint32_t, 8> packet{
            kSdmaAtomic | kAtomicAdd64 << 25, low(address), high(address), 1, 0, 0, 0, 0};
        return try_put(packet);
    }
    if (kind_ == Kind::kPm4) {
        const std::array<std::uint32_t, 9> packet{
            3u << 30 | 7u << 16 | 0x1eu << 8, kAtomicAdd64, low(address), high(address), 1, 0, 0, 0, 0};
        return try_put(packet);
    }
    std::array<std::uint32_t, 16> packet{};
    packet[0] = 3;  // barrier-and packet without signals
    packet[14] = low(address);
    packet[15] = high(address);
    return try_put(packet);
}

void Queue::copy(std::uint64_t to, std::uint64_t from, std::uint64_t size) {
    expect(kind_ == Kind::kSdma, "only SDMA queues copy");
    while (size != 0) {
        const std::uint64_t step = std::min(size, kSdmaCopyMax);
        const std::array<std::uint32_t, 7> packet{
            kSdmaCopy, copy_count(family_, step), 0, low(from), high(from), low(to), high(to)};
        put(packet);
        from += step;
        to += step;
        size -= step;
    }
}

void Queue::raise(std::uint32_t event) {
    expect(kind_ == Kind::kSdma, "only SDMA queues raise events here");
    const std::array<std::uint32_t, 2> packet{kSdmaTrap, event};
    put(packet);
}

void Queue::ring() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    *write_ = put_;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    *doorbell_ = put_;
}

bool Queue::idle() const {
    return done() == put_;
}

void Queue::finish() {
    ring();
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!idle()) {
        if (std::chrono::steady_clock::now() > end) {
            throw Failure("queue " + std::to_string(id_) + " stands still at " + std::to_string(done()) + " of " +
                          std::to_string(put_));
        }
        usleep(200);
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Queue::destroy() {
    kfd_ioctl_destroy_queue_args arguments{id_, 0};
    kfd_.call(AMDKFD_IOC_DESTROY_QUEUE, arguments, "DESTROY_QUEUE");
    kfd_.free(doorbells_);
    kfd_.free(indexes_);
    kfd_.free(ring_);
    if (!area_.empty()) {
        kfd_.free(eop_);
        expect(munmap(area_.data(), area_.size()) == 0, "munmap of the area for waves");
    }
}

}  // namespace gpu
