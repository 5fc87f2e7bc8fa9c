// SPDX-License-Identifier: GPL-2.0-only
// Holds one buffer of more than 4 GiB, which is empty but for some places: both ends, and around 4 GiB. Checks these as
// the program and as the GPU sees them, and that samples of all else are zero.
// usage: kfd_large FOLDER MIB
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/queue.hpp"
#include "gpu/subject.hpp"

namespace {

constexpr std::size_t kPlace = 64 << 10;
constexpr std::size_t kEvery = 1 << 20;
constexpr std::size_t kBorder = std::size_t{4} << 30;

class Test {
public:
    explicit Test(std::size_t size)
        : queue_(kfd_, kfd_.gpus().at(0), gpu::Queue::Kind::kSdma),
          memory_(kfd_.allocate(kfd_.gpus().at(0), size, gpu::kVisibleVram)),
          staging_(kfd_.allocate(kfd_.gpus().at(0), kPlace, gpu::kGtt)),
          places_{0, kEvery / 2, kBorder / 2, kBorder - kPlace, kBorder, kBorder + kEvery / 2, size - kPlace} {
        gpu::expect(size > kBorder + kEvery, "the buffer has to be larger than 4 GiB");
        for (const std::size_t place : places_) {
            gpu::fill(memory_.bytes().subspan(place, kPlace), seed(place));
        }
    }

    void works() { queue_.finish(); }

    void verify() {
        for (const std::size_t place : places_) {
            const std::string what = "the content at " + std::to_string(place);
            gpu::check(memory_.bytes().subspan(place, kPlace), seed(place), what);
            queue_.copy(staging_.address, memory_.address + place, kPlace);
            queue_.finish();
            gpu::check(staging_.bytes(), seed(place), what + ", as the GPU sees it");
        }
        // The samples lie behind the places.
        for (std::size_t at = kPlace; at < memory_.size; at += kEvery) {
            std::uint64_t value = 0;
            std::memcpy(&value, memory_.bytes().data() + at, sizeof(value));
            gpu::expect(value == 0, "there is something at " + std::to_string(at));
        }
    }

private:
    static std::uint64_t seed(std::size_t place) { return place / kPlace + 1; }

    gpu::Kfd kfd_;
    gpu::Queue queue_;
    gpu::Memory memory_;
    gpu::Memory staging_;
    std::vector<std::size_t> places_;
};

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [&](gpu::Subject& subject) {
        gpu::expect(argc > 2, "too few arguments");
        Test test(std::strtoull(argv[2], nullptr, 10) << 20);
        subject.wait([&] { test.works(); });
        test.verify();
    });
}
