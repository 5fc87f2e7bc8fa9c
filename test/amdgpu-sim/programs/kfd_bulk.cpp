// SPDX-License-Identifier: GPL-2.0-only
// Allocates much memory for measurements: several processes with buffers on GPUs, and with ordinary memory.
// usage: kfd_bulk FOLDER PROCESSES GPUS MIB_PER_GPU MIB_OF_OWN [MIB_PER_BUFFER]
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/subject.hpp"

namespace {

struct Sizes {
    std::size_t processes = 1;
    std::size_t gpus = 1;
    std::size_t per_gpu = 0;
    std::size_t own = 0;
    std::size_t per_buffer = 96 << 20;  // more than criu copies at once
};

// Makes each page unique by values at its beginning and end. That is enough to find lost or misplaced pages, and fast.
void stamp(std::span<std::byte> memory, std::uint64_t seed) {
    for (std::size_t at = 0; at < memory.size(); at += gpu::kPage) {
        const std::uint64_t value = (seed << 40) + at + 1;
        std::memcpy(memory.data() + at, &value, sizeof(value));
        std::memcpy(memory.data() + at + gpu::kPage - sizeof(value), &value, sizeof(value));
    }
}

void check_stamps(std::span<const std::byte> memory, std::uint64_t seed, const std::string& what) {
    for (std::size_t at = 0; at < memory.size(); at += gpu::kPage) {
        const std::uint64_t value = (seed << 40) + at + 1;
        gpu::expect(std::memcmp(memory.data() + at, &value, sizeof(value)) == 0 &&
                        std::memcmp(memory.data() + at + gpu::kPage - sizeof(value), &value, sizeof(value)) == 0,
                    what + " is wrong at " + std::to_string(at));
    }
}

class Member {
public:
    Member(const Sizes& sizes, std::size_t number) : number_(number) {
        for (std::size_t which = 0; which < sizes.gpus; ++which) {
            // Distributes the GPUs over the processes.
            const gpu::Gpu& gpu = kfd_.gpus().at((number + which) % kfd_.gpus().size());
            for (std::size_t left = sizes.per_gpu; left != 0; left -= std::min(left, sizes.per_buffer)) {
                buffers_.push_back(kfd_.allocate(gpu, std::min(left, sizes.per_buffer), gpu::kVisibleVram));
                stamp(buffers_.back().bytes(), seed() + buffers_.size());
            }
        }
        if (sizes.own != 0) {
            void* const place = mmap(nullptr, sizes.own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            gpu::expect(place != MAP_FAILED, "mmap");
            own_ = {static_cast<std::byte*>(place), sizes.own};
            stamp(own_, seed());
        }
    }

    void verify() const {
        check_stamps(own_, seed(), "memory");
        for (std::size_t at = 0; at < buffers_.size(); ++at) {
            check_stamps(buffers_[at].bytes(), seed() + at + 1, "buffer " + std::to_string(at));
        }
    }

private:
    std::uint64_t seed() const { return 1000 * (number_ + 1); }

    gpu::Kfd kfd_;
    std::size_t number_;
    std::vector<gpu::Memory> buffers_;
    std::span<std::byte> own_;
};

// Sets up, closes `ready`, and checks when the parent closes `go`.
int child(const Sizes& sizes, std::size_t number, int ready, int go) {
    try {
        const Member member(sizes, number);
        close(ready);
        char byte = 0;
        gpu::expect(read(go, &byte, 1) == 0, "read");
        member.verify();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "process %zu: %s\n", number, error.what());
        return 1;
    }
}

std::size_t number_at(int argc, char** argv, int at) {
    gpu::expect(at < argc, "too few arguments");
    return std::strtoull(argv[at], nullptr, 10);
}

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [&](gpu::Subject& subject) {
        Sizes sizes{number_at(argc, argv, 2), number_at(argc, argv, 3), number_at(argc, argv, 4) << 20,
                    number_at(argc, argv, 5) << 20};
        if (argc > 6) {
            sizes.per_buffer = number_at(argc, argv, 6) << 20;
        }
        int ready[2];
        int go[2];
        gpu::require(pipe(ready), "pipe");
        gpu::require(pipe(go), "pipe");
        std::vector<pid_t> children;
        for (std::size_t number = 1; number < sizes.processes; ++number) {
            children.push_back(gpu::require(fork(), "fork"));
            if (children.back() == 0) {
                close(ready[0]);
                close(go[1]);
                _exit(child(sizes, number, ready[1], go[0]));
            }
        }
        const Member own(sizes, 0);
        close(ready[1]);
        close(go[0]);
        char byte = 0;
        gpu::expect(read(ready[0], &byte, 1) == 0, "read");
        subject.wait([] {});
        own.verify();
        close(go[1]);
        for (const pid_t pid : children) {
            int status = 0;
            gpu::expect(waitpid(pid, &status, 0) == pid && status == 0, "a child ended badly");
        }
    });
}
