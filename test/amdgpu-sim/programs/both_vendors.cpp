// SPDX-License-Identifier: GPL-2.0-only
// Has GPUs of two vendors in one tree. The parent computes with AMD GPUs. One child uses CUDA by the fake driver
// of test/cuda, one uses both, and one uses no GPU.
#include <signal.h>
#include <sys/mman.h>

#include <memory>
#include <span>
#include <string>

#include "cuda_api.hpp"
#include "gpu/member.hpp"
#include "gpu/subject.hpp"

namespace {

constexpr std::uint64_t kWords = 1 << 18;

// Holds device memory with a pattern, and a kernel that counts.
class CudaMember final : public gpu::Member {
public:
    explicit CudaMember(std::uint64_t seed) : seed_(seed) {
        cuda::use_device(0);
        kernels_ = std::make_unique<cuda::Kernels>();
        memory_ = cuda::allocate(kWords * 8);
        numbers_ = cuda::allocate(16);
        const std::uint64_t zeros[2] = {0, 0};
        cuda::call("cuMemcpyHtoD_v2", numbers_, static_cast<const void*>(zeros), sizeof(zeros));
        kernels_->fill(memory_, kWords, seed_);
        cuda::call("cuCtxSynchronize");
    }

    void works() override {
        ++turns_;
        kernels_->tick(numbers_);
        cuda::call("cuCtxSynchronize");
        require(0);
    }

    void verify() override {
        works();
        kernels_->check(memory_, kWords, seed_, numbers_ + 8);
        cuda::call("cuCtxSynchronize");
        require(0);
    }

private:
    void require(std::uint64_t wrong) const {
        std::uint64_t found[2] = {0, 0};
        cuda::call("cuMemcpyDtoH_v2", static_cast<void*>(found), numbers_, sizeof(found));
        gpu::expect(found[0] == turns_ && found[1] == wrong, "a kernel has counted to " + std::to_string(found[0]) +
                                                                 ", not " + std::to_string(turns_) + "; " +
                                                                 std::to_string(found[1]) + " words are wrong");
    }

    std::uint64_t seed_;
    std::uint64_t turns_ = 0;
    std::unique_ptr<cuda::Kernels> kernels_;
    cuda::DevicePointer memory_ = 0;
    cuda::DevicePointer numbers_ = 0;
};

class OfBoth final : public gpu::Member {
public:
    void works() override {
        compute_.works();
        cuda_.works();
    }
    void verify() override {
        compute_.verify();
        cuda_.verify();
    }

private:
    gpu::ComputeMember compute_{5};
    CudaMember cuda_{6};
};

class PlainMember final : public gpu::Member {
public:
    PlainMember() { gpu::fill(memory_, 7); }
    void works() override {}
    void verify() override { gpu::check(memory_, 7, "memory of a process without GPU"); }

private:
    static constexpr std::size_t kSize = 2 << 20;
    std::span<std::byte> memory_{
        static_cast<std::byte*>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        kSize};
};

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject& subject) {
        signal(SIGPIPE, SIG_IGN);
        gpu::Child nvidia([] { return std::make_unique<CudaMember>(1); });
        gpu::Child both([] { return std::make_unique<OfBoth>(); });
        gpu::Child plain([] { return std::make_unique<PlainMember>(); });
        gpu::ComputeMember amd(3);
        const auto turn = [&] {
            nvidia.works();
            amd.works();
            both.works();
        };
        turn();
        subject.wait(turn);
        amd.verify();
        nvidia.end();
        both.end();
        plain.end();
    });
}
