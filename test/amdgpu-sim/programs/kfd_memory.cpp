// SPDX-License-Identifier: GPL-2.0-only
// Holds memory of every kind on two GPUs. After a restore each byte is at the same address for the program and for each
// GPU that had it mapped. Other GPUs don't see it.
#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/queue.hpp"
#include "gpu/subject.hpp"

namespace {

struct Piece {
    std::string name;
    gpu::Memory memory;
    std::uint64_t seed;
    std::vector<std::size_t> gpus;  // GPUs that have it mapped
};

std::span<std::byte> anonymous(std::size_t size) {
    void* place = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    gpu::expect(place != MAP_FAILED, "mmap");
    return {static_cast<std::byte*>(place), size};
}

class Test {
public:
    Test() {
        gpu::expect(kfd_.gpus().size() >= 2, "this test wants two GPUs");
        for (const gpu::Gpu& gpu : kfd_.gpus()) {
            queues_.push_back(std::make_unique<gpu::Queue>(kfd_, gpu, gpu::Queue::Kind::kSdma));
            staging_.push_back(kfd_.allocate(gpu, kStaging, gpu::kGtt));
        }
        for (std::size_t own = 0; own < 2; ++own) {
            const std::string at = " of GPU " + std::to_string(own);
            add("visible VRAM" + at, own, 3 << 20, gpu::kVisibleVram, false);
            add("visible VRAM for both" + at, own, 40960, gpu::kVisibleVram, true);
            add("VRAM" + at, own, 2 << 20, gpu::kVram, false);
            add("VRAM for both" + at, own, 4096, gpu::kVram, true);
            add("system memory" + at, own, 1 << 20, gpu::kGtt, false);
            add("system memory for both" + at, own, 8192, gpu::kGtt, true);
            add("executable system memory" + at, own, 4096, gpu::kGtt | KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE, false);
            add_userptr("memory of the process" + at, own, 256 << 10);
            // Frees allocations in between, which leaves gaps in the driver's handles.
            kfd_.free(kfd_.allocate(kfd_.gpus()[own], 4096, gpu::kGtt));
            for (int i = 0; i < 20; ++i) {
                add("small piece " + std::to_string(i) + at, own, 4096, gpu::kVisibleVram, i % 3 == 0);
            }
        }
        mmio_ = kfd_.allocate(kfd_.gpus()[0], gpu::kPage,
                              KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE);
    }

    void works() {
        for (std::size_t at = 0; at < queues_.size(); ++at) {
            check_by_gpu(pieces_.front(), pieces_.front().gpus.front());
            queues_[at]->finish();
        }
    }

    void verify() {
        for (const Piece& piece : pieces_) {
            if (piece.memory.visible) {
                gpu::check(piece.memory.bytes(), piece.seed, piece.name);
            }
            for (const std::size_t which : piece.gpus) {
                check_by_gpu(piece, which);
            }
        }
        // New memory must get a handle that no other memory has.
        const gpu::Memory more = kfd_.allocate(kfd_.gpus()[1], 1 << 20, gpu::kVisibleVram);
        for (const Piece& piece : pieces_) {
            gpu::expect(piece.memory.handle != more.handle, "a new allocation has the handle of " + piece.name);
        }
        gpu::fill(more.bytes(), 1);
        gpu::check(pieces_.front().memory.bytes(), pieces_.front().seed, "another buffer after a new one was filled");
        // The old handle must still free the memory.
        for (const Piece& piece : pieces_) {
            kfd_.free(piece.memory);
        }
        static_cast<void>(*reinterpret_cast<volatile std::uint32_t*>(mmio_.address));
    }

private:
    static constexpr std::size_t kStaging = 4 << 20;

    void add(const std::string& name, std::size_t own, std::size_t size, std::uint32_t flags, bool both) {
        Piece piece{name, kfd_.allocate(kfd_.gpus()[own], size, flags), ++seed_, {own}};
        if (both) {
            kfd_.map(piece.memory, {kfd_.gpus()[1 - own].id});
            piece.gpus.push_back(1 - own);
        }
        if (piece.memory.visible) {
            gpu::fill(piece.memory.bytes(), piece.seed);
        } else {
            gpu::fill(staging_[own].bytes().first(size), piece.seed);
            queues_[own]->copy(piece.memory.address, staging_[own].address, size);
            queues_[own]->finish();
        }
        pieces_.push_back(piece);
    }

    void add_userptr(const std::string& name, std::size_t own, std::size_t size) {
        const std::span<std::byte> memory = anonymous(size);
        gpu::fill(memory, ++seed_);
        pieces_.push_back({name, kfd_.userptr(kfd_.gpus()[own], memory), seed_, {own}});
    }

    // Copies the piece by the GPU to memory that the program sees.
    void check_by_gpu(const Piece& piece, std::size_t which) {
        const std::span<std::byte> target = staging_[which].bytes().first(piece.memory.size);
        gpu::fill(target, 0);
        queues_[which]->copy(staging_[which].address, piece.memory.address, piece.memory.size);
        queues_[which]->finish();
        gpu::check(target, piece.seed, piece.name + ", as GPU " + std::to_string(which) + " sees it");
    }

    gpu::Kfd kfd_;
    std::vector<std::unique_ptr<gpu::Queue>> queues_;
    std::vector<gpu::Memory> staging_;
    std::vector<Piece> pieces_;
    gpu::Memory mmio_;
    std::uint64_t seed_ = 100;
};

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject& subject) {
        Test test;
        subject.wait([&] { test.works(); });
        test.verify();
    });
}
