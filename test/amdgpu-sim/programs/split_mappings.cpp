// SPDX-License-Identifier: GPL-2.0-only
// Splits mappings of GPU memory: by other rights in the middle, and by other memory in place of a part. The driver maps
// a buffer from its start only, so no part of a split mapping can be mapped by its own offset.
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/queue.hpp"
#include "gpu/render.hpp"
#include "gpu/subject.hpp"
#include "gpu/topology.hpp"

namespace {

constexpr std::size_t kSize = 6 << 20;
constexpr std::size_t kPart = kSize / 3;
constexpr std::uint32_t kDoorbells = KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;

// Memory in three parts: the middle one is read-only, or the first one is replaced by anonymous memory.
struct Piece {
    std::string name;
    std::span<std::byte> memory;
    std::uint64_t seed;
    bool headless = false;
    bool compute = false;  // belongs to the compute driver, so the queue reaches it
};

constexpr std::uint64_t kOther = 1000;  // seed of anonymous memory

// Replaces GPU memory in the process. The GPU address stays in use, so it can't just be unmapped.
void replace(std::span<std::byte> part) {
    void* const place =
        mmap(part.data(), part.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    gpu::expect(place == part.data(), "mmap over a part of GPU memory");
    gpu::fill(part, kOther);
}

class Test {
public:
    Test() : render_(gpu::nodes().at(0).render_path()), queue_(kfd_, kfd_.gpus().at(0), gpu::Queue::Kind::kSdma) {
        const gpu::Gpu& gpu = kfd_.gpus().at(0);
        for (const bool headless : {false, true}) {
            for (const auto& [name, flags] :
                 {std::pair("video memory", gpu::kVisibleVram), std::pair("system memory", gpu::kGtt)}) {
                add(std::string(name) + " of the compute driver", kfd_.allocate(gpu, kSize, flags).bytes(), headless,
                    true);
            }
            gpu::Buffer buffer = render_.create(kSize, AMDGPU_GEM_DOMAIN_VRAM);
            render_.map(buffer);
            add("memory of the render node", buffer.bytes, headless, false);
        }
        staging_ = kfd_.allocate(gpu, kPart, gpu::kGtt);
        first_ = kfd_.allocate(gpu, gpu::kDoorbellBytes, kDoorbells);
        replace(first_.bytes().last(gpu::kPage));
        second_ = kfd_.allocate(gpu, gpu::kDoorbellBytes, kDoorbells);
        replace(second_.bytes().first(gpu::kPage));
    }

    void works() { queue_.finish(); }

    void verify() {
        for (const Piece& piece : pieces_) {
            const std::string what = piece.name + (piece.headless ? ", the first part replaced" : ", in three parts");
            gpu::check(piece.memory.first(kPart), piece.headless ? kOther : piece.seed, what + ": its first part");
            gpu::check(piece.memory.subspan(kPart, kPart), piece.seed + 1, what + ": its second part");
            gpu::check(piece.memory.last(kPart), piece.seed + 2, what + ": its third part");
            if (!piece.compute) {
                continue;
            }
            // The mapping is the buffer's and no copy: the GPU sees what the program writes.
            gpu::fill(piece.memory.last(kPart), piece.seed + 3);
            const auto last = reinterpret_cast<std::uint64_t>(piece.memory.last(kPart).data());
            queue_.copy(staging_.address, last, kPart);
            queue_.finish();
            gpu::check(staging_.bytes(), piece.seed + 3, what + ": its third part, as the GPU sees it");
        }
        const gpu::Memory all = kfd_.allocate(kfd_.gpus().at(0), gpu::kDoorbellBytes, kDoorbells);
        gpu::check(first_.bytes().last(gpu::kPage), kOther, "memory behind the first page of doorbells");
        gpu::check(second_.bytes().first(gpu::kPage), kOther, "memory before the second page of doorbells");
        // Doorbells of which no queue has one.
        for (const std::size_t slot : {std::size_t{500}, std::size_t{700}}) {
            const gpu::Memory& half = slot < gpu::kPage / 8 ? first_ : second_;
            reinterpret_cast<volatile std::uint64_t*>(half.address)[slot] = slot;
            gpu::expect(reinterpret_cast<volatile std::uint64_t*>(all.address)[slot] == slot,
                        "doorbell " + std::to_string(slot) + " is another one");
        }
        queue_.finish();
    }

private:
    void add(std::string name, std::span<std::byte> memory, bool headless, bool compute) {
        const std::uint64_t seed = 10 * (pieces_.size() + 1);
        for (std::size_t part = 0; part < 3; ++part) {
            gpu::fill(memory.subspan(part * kPart, kPart), seed + part);
        }
        if (headless) {
            replace(memory.first(kPart));
        } else {
            gpu::require(mprotect(memory.data() + kPart, kPart, PROT_READ), "mprotect of a part");
        }
        pieces_.push_back({std::move(name), memory, seed, headless, compute});
    }

    gpu::Kfd kfd_;
    gpu::Render render_;
    gpu::Queue queue_;
    std::vector<Piece> pieces_;
    gpu::Memory staging_;
    gpu::Memory first_;   // doorbells without their second page
    gpu::Memory second_;  // doorbells without their first page
};

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject& subject) {
        Test test;
        subject.wait([&] { test.works(); });
        test.verify();
    });
}
