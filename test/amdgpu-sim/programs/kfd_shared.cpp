// SPDX-License-Identifier: GPL-2.0-only
// Shares memory of the compute driver between two processes, as hipIpc and ranks of RCCL do. Each process, by GPU and
// CPU, must read what the other writes. Without help of criu, the driver restores two separate buffers. The importing
// process has free handles below this memory's, and a second import of its own memory.
// With the argument "render" both processes import a buffer of a render node, as with OpenGL. With "ipc" they share by
// a handle of AMD's driver.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "gpu/kfd.hpp"
#include "gpu/queue.hpp"
#include "gpu/render.hpp"
#include "gpu/subject.hpp"

namespace {

constexpr std::size_t kSize = 1 << 20;
constexpr char kEnd = 'e';

// The kernel headers of Debian 12 lack AMDKFD_IOC_EXPORT_DMABUF.
struct Export {
    std::uint64_t handle;
    std::uint32_t flags;
    std::uint32_t dmabuf_fd;
};

// Handles of AMD's driver, which Linux lacks.
struct IpcExport {
    std::uint64_t handle;
    std::uint32_t share_handle[4];
    std::uint32_t gpu_id;
    std::uint32_t flags;
};
struct IpcImport {
    std::uint64_t handle;
    std::uint64_t va_addr;
    std::uint64_t mmap_offset;
    std::uint32_t share_handle[4];
    std::uint32_t gpu_id;
    std::uint32_t flags;
};

int export_memory(const gpu::Kfd& kfd, const gpu::Memory& memory) {
    Export arguments{memory.handle, 0, 0};
    kfd.call(_IOWR(AMDKFD_IOCTL_BASE, 0x24, Export), arguments, "EXPORT_DMABUF");
    return static_cast<int>(arguments.dmabuf_fd);
}

std::uint64_t free_range() {
    void* place = mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    gpu::expect(place != MAP_FAILED, "mmap of an address range");
    return reinterpret_cast<std::uint64_t>(place);
}

// Imports memory at a free address, for use by the GPU.
gpu::Memory import_memory(const gpu::Kfd& kfd, int dmabuf) {
    const gpu::Gpu& gpu = kfd.gpus()[0];
    kfd_ioctl_import_dmabuf_args import{};
    import.va_addr = free_range();
    import.gpu_id = gpu.id;
    import.dmabuf_fd = static_cast<std::uint32_t>(dmabuf);
    kfd.call(AMDKFD_IOC_IMPORT_DMABUF, import, "IMPORT_DMABUF");
    const gpu::Memory memory{import.handle, import.va_addr, kSize, false};
    kfd.map(memory, {gpu.id});
    return memory;
}

// Imports memory by a handle of AMD's driver. Maps it for the CPU at the offset that the driver returns.
gpu::Memory import_handle(const gpu::Kfd& kfd, const std::string& handle, std::span<std::byte>& mapped) {
    const gpu::Gpu& gpu = kfd.gpus()[0];
    IpcImport import{};
    gpu::expect(std::sscanf(handle.c_str(), "%x,%x,%x,%x", &import.share_handle[0], &import.share_handle[1],
                            &import.share_handle[2], &import.share_handle[3]) == 4,
                "a handle has four numbers");
    import.va_addr = free_range();
    import.gpu_id = gpu.id;
    kfd.call(_IOWR(AMDKFD_IOCTL_BASE, 0x80, IpcImport), import, "IPC_IMPORT_HANDLE");
    const gpu::Memory memory{import.handle, import.va_addr, kSize, false};
    kfd.map(memory, {gpu.id});
    void* const place =
        mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, gpu.render_fd, static_cast<off_t>(import.mmap_offset));
    gpu::expect(place != MAP_FAILED, "mmap of imported memory");
    mapped = {static_cast<std::byte*>(place), kSize};
    return memory;
}

// Maps imported memory for the CPU by a temporary GEM handle.
std::span<std::byte> map_imported(const gpu::Gpu& gpu, int dmabuf) {
    const gpu::Render render(gpu.render_fd);
    gpu::Buffer buffer = render.import_fd(dmabuf);
    render.map(buffer);
    render.close_handle(buffer.handle);
    return buffer.bytes;
}

// Writes values by its GPU into the imported memory, on request.
class Other {
public:
    // `what`: number of a DMA-BUF, or a handle of AMD's driver.
    explicit Other(const std::string& what) : queue_(kfd_, gpu(), gpu::Queue::Kind::kSdma) {
        const gpu::Memory before = kfd_.allocate(gpu(), kSize, gpu::kGtt);
        staging_ = kfd_.allocate(gpu(), kSize, gpu::kGtt);
        if (what.find(',') != std::string::npos) {
            memory_ = import_handle(kfd_, what, mapped_);
        } else {
            const int dmabuf = std::stoi(what);
            memory_ = import_memory(kfd_, dmabuf);
            mapped_ = map_imported(gpu(), dmabuf);
            close(dmabuf);
        }
        own_ = kfd_.allocate(gpu(), kSize, gpu::kVisibleVram);
        const int exported = export_memory(kfd_, own_);
        again_ = import_memory(kfd_, exported);
        close(exported);
        kfd_.free(before);  // leaves a free handle
    }

    void write(unsigned char what) {
        gpu::fill(staging_.bytes(), what);
        queue_.copy(memory_.address, staging_.address, kSize);
        queue_.copy(again_.address, staging_.address, kSize);
        queue_.finish();
        gpu::check(mapped_, what, "the imported memory, as the processor sees it");
        gpu::check(own_.bytes(), what, "memory that was imported by who has made it");
    }

private:
    const gpu::Gpu& gpu() const { return kfd_.gpus()[0]; }

    gpu::Kfd kfd_;
    gpu::Queue queue_;
    gpu::Memory staging_;
    gpu::Memory memory_;
    gpu::Memory own_;
    gpu::Memory again_;
    std::span<std::byte> mapped_;
};

int other_process(const std::string& what, int commands, int answers) {
    try {
        Other other(what);
        for (char command = 0; command != kEnd;) {
            gpu::expect(read(commands, &command, 1) == 1, "read");
            other.write(static_cast<unsigned char>(command));
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
    explicit Test(const std::string& way) : queue_(kfd_, kfd_.gpus()[0], gpu::Queue::Kind::kSdma) {
        const gpu::Gpu& gpu = kfd_.gpus()[0];
        const std::string what = way == "ipc" ? export_handle(gpu) : "";
        const int dmabuf = way == "ipc" ? -1 : way == "render" ? export_render(gpu) : export_memory(gpu);
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
            execute(what.empty() ? std::to_string(dmabuf) : what, down[0], up[1]);
        }
        if (dmabuf >= 0)
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
    int export_memory(const gpu::Gpu& gpu) {
        memory_ = kfd_.allocate(gpu, kSize, gpu::kVisibleVram);
        return ::export_memory(kfd_, memory_);
    }

    std::string export_handle(const gpu::Gpu& gpu) {
        memory_ = kfd_.allocate(gpu, kSize, gpu::kVisibleVram);
        IpcExport arguments{memory_.handle, {}, gpu.id, 0};
        kfd_.call(_IOWR(AMDKFD_IOCTL_BASE, 0x81, IpcExport), arguments, "IPC_EXPORT_HANDLE");
        char text[64];
        std::snprintf(text, sizeof(text), "%x,%x,%x,%x", arguments.share_handle[0], arguments.share_handle[1],
                      arguments.share_handle[2], arguments.share_handle[3]);
        return text;
    }

    int export_render(const gpu::Gpu& gpu) {
        const gpu::Render render(gpu.render_fd);
        const gpu::Buffer buffer = render.create(kSize, AMDGPU_GEM_DOMAIN_VRAM);
        const int dmabuf = gpu::require(dup(render.export_fd(buffer)), "dup");  // a copy for the other program
        memory_ = import_memory(kfd_, dmabuf);
        return dmabuf;
    }

    // Executes a new program: the kernel doesn't share GPU mappings with a forked child.
    [[noreturn]] static void execute(const std::string& what, int commands, int answers) {
        const std::string numbers[3] = {what, std::to_string(commands), std::to_string(answers)};
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
        return other_process(argv[2], std::stoi(argv[3]), std::stoi(argv[4]));
    return gpu::run(argc, argv, [&](gpu::Subject& subject) {
        Test test(argc > 2 ? argv[2] : "");
        char command = 'b';
        subject.wait([&] { test.works(command++); });
        test.end();
    });
}
