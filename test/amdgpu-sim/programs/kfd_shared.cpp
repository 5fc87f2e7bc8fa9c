// SPDX-License-Identifier: GPL-2.0-only
// Memory of the compute driver that two processes share, as by hipIpc and between ranks of RCCL: what one writes the
// other reads. The driver restores it as two separate buffers, so a dump has to be refused.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "gpu/kfd.hpp"
#include "gpu/queue.hpp"
#include "gpu/subject.hpp"

namespace {

constexpr std::size_t kSize = 1 << 20;
constexpr char kEnd = 'e';

// Newer than the kernel headers of Debian 12: AMDKFD_IOC_EXPORT_DMABUF.
struct Export {
    std::uint64_t handle;
    std::uint32_t flags;
    std::uint32_t dmabuf_fd;
};

// Writes what it is told, by its GPU, into the memory that it has imported.
int other_process(int dmabuf, int commands, int answers) {
    try {
        const gpu::Kfd kfd;
        const gpu::Gpu& gpu = kfd.gpus()[0];
        gpu::Queue queue(kfd, gpu, gpu::Queue::Kind::kSdma);
        const gpu::Memory staging = kfd.allocate(gpu, kSize, gpu::kGtt);
        const gpu::Memory place = kfd.allocate(gpu, kSize, gpu::kVram);
        kfd.free(place);
        kfd_ioctl_import_dmabuf_args import{};
        import.va_addr = place.address;
        import.gpu_id = gpu.id;
        import.dmabuf_fd = static_cast<std::uint32_t>(dmabuf);
        kfd.call(AMDKFD_IOC_IMPORT_DMABUF, import, "IMPORT_DMABUF");
        close(dmabuf);
        kfd.map({import.handle, import.va_addr, kSize}, {gpu.id});
        for (char command = 0; command != kEnd;) {
            gpu::expect(read(commands, &command, 1) == 1, "read");
            gpu::fill(staging.bytes(), static_cast<unsigned char>(command));
            queue.copy(import.va_addr, staging.address, kSize);
            queue.finish();
            gpu::expect(write(answers, &command, 1) == 1, "write");
        }
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "the other process: %s\n", error.what());
        return 1;
    }
}

class Test {
public:
    Test() : queue_(kfd_, kfd_.gpus()[0], gpu::Queue::Kind::kSdma) {
        const gpu::Gpu& gpu = kfd_.gpus()[0];
        memory_ = kfd_.allocate(gpu, kSize, gpu::kVram);
        Export arguments{memory_.handle, 0, 0};
        kfd_.call(_IOWR(AMDKFD_IOCTL_BASE, 0x24, Export), arguments, "EXPORT_DMABUF");
        const int dmabuf = static_cast<int>(arguments.dmabuf_fd);
        int down[2];
        int up[2];
        gpu::require(pipe(down), "pipe");
        gpu::require(pipe(up), "pipe");
        child_ = gpu::require(fork(), "fork");
        if (child_ == 0) {
            close(kfd_.fd());
            for (const gpu::Gpu& other : kfd_.gpus())
                close(other.render_fd);
            close(down[1]);
            close(up[0]);
            execute(dmabuf, down[0], up[1]);
        }
        close(dmabuf);
        close(down[0]);
        close(up[1]);
        commands_ = down[1];
        answers_ = up[0];
        staging_ = kfd_.allocate(gpu, kSize, gpu::kGtt);
        works('a');
    }

    void works(char command) {
        char answer = 0;
        gpu::expect(write(commands_, &command, 1) == 1 && read(answers_, &answer, 1) == 1,
                    "the other process has failed, see the program's output");
        queue_.copy(staging_.address, memory_.address, kSize);
        queue_.finish();
        gpu::check(staging_.bytes(), static_cast<unsigned char>(command), "what the other process has written");
    }

    void end() {
        works(kEnd);
        int status = 0;
        gpu::expect(waitpid(child_, &status, 0) == child_ && status == 0, "the other process ended badly");
    }

private:
    // In a program of its own: mappings of a parent's GPU memory are another matter.
    [[noreturn]] static void execute(int dmabuf, int commands, int answers) {
        const std::string numbers[3] = {std::to_string(dmabuf), std::to_string(commands), std::to_string(answers)};
        execl("/proc/self/exe", "kfd_shared", "--other", numbers[0].c_str(), numbers[1].c_str(), numbers[2].c_str(),
              nullptr);
        _exit(1);
    }

    gpu::Kfd kfd_;
    gpu::Queue queue_;
    gpu::Memory memory_;
    gpu::Memory staging_;
    int commands_ = -1;
    int answers_ = -1;
    pid_t child_ = -1;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc == 5 && std::string(argv[1]) == "--other")
        return other_process(std::stoi(argv[2]), std::stoi(argv[3]), std::stoi(argv[4]));
    return gpu::run(argc, argv, [](gpu::Subject& subject) {
        Test test;
        char command = 'b';
        subject.wait([&] { test.works(command++); });
        test.end();
    });
}
