// SPDX-License-Identifier: GPL-2.0-only
// Holds shared virtual memory: ranges keep their attributes, and queues continue to work in memory of the process. With
// the argument "xnack" the process' GPUs repeat accesses after a page fault.
#include <sys/mman.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/queue.hpp"
#include "gpu/subject.hpp"

namespace {

constexpr std::size_t kSize = 1 << 20;

struct Expected {
    std::uint32_t type;
    std::uint32_t asked;  // value for GET_ATTR
    std::uint32_t want_type;
    std::uint32_t want;
};

void check_attributes(const gpu::Kfd& kfd, std::span<std::byte> memory, const std::vector<Expected>& all,
                      const std::string& what) {
    std::vector<kfd_ioctl_svm_attribute> asked;
    for (const Expected& one : all) {
        asked.push_back({one.type, one.asked});
    }
    const std::vector<kfd_ioctl_svm_attribute> got = kfd.get_svm(memory, asked);
    for (std::size_t i = 0; i < all.size(); ++i) {
        gpu::expect(got[i].type == all[i].want_type && got[i].value == all[i].want,
                    what + ": attribute " + std::to_string(all[i].type) + " is " + std::to_string(got[i].type) + ":" +
                        std::to_string(got[i].value) + ", not " + std::to_string(all[i].want_type) + ":" +
                        std::to_string(all[i].want));
    }
}

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [&](gpu::Subject& subject) {
        const gpu::Kfd kfd;
        if (argc > 2) {
            kfd_ioctl_set_xnack_mode_args mode{1};
            kfd.call(AMDKFD_IOC_SET_XNACK_MODE, mode, "SET_XNACK_MODE");
        }
        gpu::expect(kfd.gpus().size() >= 2, "this test wants two GPUs");
        const std::uint32_t first = kfd.gpus()[0].id;
        const std::uint32_t second = kfd.gpus()[1].id;
        void* place = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        gpu::expect(place != MAP_FAILED, "mmap");
        const std::span<std::byte> memory{static_cast<std::byte*>(place), kSize};
        const std::span<std::byte> shared = memory.first(kSize / 2);
        const std::span<std::byte> own = memory.subspan(kSize / 2, kSize / 4);
        gpu::fill(memory, 7);

        const kfd_ioctl_svm_attribute for_both[]{{KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, second},
                                                 {KFD_IOCTL_SVM_ATTR_ACCESS, first},
                                                 {KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE, second},
                                                 {KFD_IOCTL_SVM_ATTR_GRANULARITY, 4}};
        const kfd_ioctl_svm_attribute for_first[]{{KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, first},
                                                  {KFD_IOCTL_SVM_ATTR_ACCESS, first},
                                                  {KFD_IOCTL_SVM_ATTR_SET_FLAGS, KFD_IOCTL_SVM_FLAG_GPU_EXEC},
                                                  {KFD_IOCTL_SVM_ATTR_CLR_FLAGS, KFD_IOCTL_SVM_FLAG_COHERENT}};
        kfd.set_svm(shared, for_both);
        kfd.set_svm(own, for_first);

        gpu::Queue by_first(kfd, kfd.gpus()[0], gpu::Queue::Kind::kSdma);
        gpu::Queue by_second(kfd, kfd.gpus()[1], gpu::Queue::Kind::kPm4);
        auto* counters = reinterpret_cast<volatile std::uint64_t*>(shared.data());
        counters[0] = 0;
        counters[1] = 0;
        std::uint64_t turns = 0;
        const auto turn = [&] {
            gpu::expect(by_first.try_count(reinterpret_cast<std::uint64_t>(&counters[0])), "a ring is full");
            gpu::expect(by_second.try_count(reinterpret_cast<std::uint64_t>(&counters[1])), "a ring is full");
            by_first.copy(reinterpret_cast<std::uint64_t>(own.data()),
                          reinterpret_cast<std::uint64_t>(shared.data() + shared.size() / 2), 4096);
            by_first.finish();
            by_second.finish();
            ++turns;
            gpu::expect(counters[0] == turns && counters[1] == turns, "a queue has not counted in shared memory");
        };
        turn();
        subject.wait(turn);
        turn();

        check_attributes(kfd, shared,
                         {{KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, second},
                          {KFD_IOCTL_SVM_ATTR_ACCESS, first, KFD_IOCTL_SVM_ATTR_ACCESS, first},
                          {KFD_IOCTL_SVM_ATTR_ACCESS, second, KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE, second},
                          {KFD_IOCTL_SVM_ATTR_GRANULARITY, 0, KFD_IOCTL_SVM_ATTR_GRANULARITY, 4}},
                         "the range of both GPUs");
        check_attributes(kfd, own,
                         {{KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, 0, KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, first},
                          {KFD_IOCTL_SVM_ATTR_ACCESS, first, KFD_IOCTL_SVM_ATTR_ACCESS, first},
                          {KFD_IOCTL_SVM_ATTR_ACCESS, second, KFD_IOCTL_SVM_ATTR_NO_ACCESS, second},
                          {KFD_IOCTL_SVM_ATTR_SET_FLAGS, 0, KFD_IOCTL_SVM_ATTR_SET_FLAGS,
                           KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_GPU_EXEC}},
                         "the range of the first GPU");
        // The second half is unchanged except for the copied page.
        std::vector<std::byte> original(kSize);
        gpu::fill(original, 7);
        for (std::size_t at = 16; at < kSize; ++at) {
            const std::size_t from = at >= kSize / 2 && at < kSize / 2 + 4096 ? at - kSize / 4 : at;
            gpu::expect(memory[at] == original[from], "shared memory is wrong at offset " + std::to_string(at));
        }
    });
}
