// SPDX-License-Identifier: GPL-2.0-only
// Checks driver rules that changed with Linux versions, or that a simulator easily misses. The argument is the version
// that the simulator imitates: 601, 608 and so on.
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/render.hpp"
#include "gpu/subject.hpp"

namespace {

// The kernel headers of Debian 12 lack this structure.
struct ListHandles {
    std::uint64_t entries;
    std::uint32_t count, padding;
};
struct ListEntry {
    std::uint32_t handle, flags;
    std::uint64_t size, preferred_domains, alloc_flags, alignment;
};
constexpr unsigned long kListHandles = _IOWR('d', 0x59, ListHandles);
struct GemOp {
    std::uint32_t handle, op;
    std::uint64_t value;
    std::uint32_t count, padding;
};
constexpr unsigned long kGemOp = _IOWR('d', 0x50, GemOp);
constexpr std::uint32_t kGetMappingInfo = 2;
struct ExportDmabuf {
    std::uint64_t handle;
    std::uint32_t flags, dmabuf_fd;
};
constexpr unsigned long kExportDmabuf = _IOWR(AMDKFD_IOCTL_BASE, 0x24, ExportDmabuf);

void expect_errno(int got, int wanted, const std::string& what) {
    gpu::expect(got == wanted, what + " gives errno " + std::to_string(got) + ", not " + std::to_string(wanted));
}

ino_t inode_of(int fd) {
    struct stat status {};
    gpu::require(fstat(fd, &status), "fstat");
    return status.st_ino;
}

// Checks kfd_ioctl_acquire_vm(): it works once, for one description of the render node.
void check_acquire(const gpu::Kfd& kfd, const std::string& node) {
    const gpu::Gpu& gpu = kfd.gpus()[0];
    kfd_ioctl_acquire_vm_args arguments{static_cast<std::uint32_t>(gpu.render_fd), gpu.id};
    expect_errno(kfd.attempt(AMDKFD_IOC_ACQUIRE_VM, arguments), 0, "a second ACQUIRE_VM by the same file");
    const gpu::Render other(node);
    arguments.drm_fd = static_cast<std::uint32_t>(other.fd());
    expect_errno(kfd.attempt(AMDKFD_IOC_ACQUIRE_VM, arguments), EBUSY, "ACQUIRE_VM by another file of the node");
    close(other.fd());
}

// Returns VmFlags of /proc/PID/smaps for the mapping at an address.
std::string flags_at(std::uint64_t address) {
    std::ifstream smaps("/proc/self/smaps");
    std::ostringstream begin;
    begin << std::hex << address << '-';
    bool here = false;
    for (std::string line; std::getline(smaps, line);) {
        if (line.rfind("VmFlags:", 0) == 0 && here)
            return line + ' ';
        if (line.find('-') != std::string::npos && line.find(" kB") == std::string::npos &&
            line.rfind("VmFlags", 0) != 0)
            here = line.rfind(begin.str(), 0) == 0;
    }
    return {};
}

void check_mappings(const gpu::Kfd& kfd) {
    const gpu::Memory memory = kfd.allocate(kfd.gpus()[0], gpu::kPage, gpu::kVisibleVram);
    const std::string flags = flags_at(memory.address);
    for (const char* flag : {" pf ", " io ", " de ", " dd "})  // ttm_bo_mmap_obj()
        gpu::expect(flags.find(flag) != std::string::npos, "a mapping of video memory has '" + flags + "'");
    kfd.unmap(memory, {kfd.gpus()[0].id});
    kfd.free(memory);
}

// Returns the DMA-BUFs of a checkpoint's buffers.
std::vector<int> exports(const gpu::Kfd& kfd) {
    kfd_ioctl_criu_args arguments{};
    arguments.op = KFD_CRIU_OP_PROCESS_INFO;
    kfd.call(AMDKFD_IOC_CRIU_OP, arguments, "PROCESS_INFO");
    std::vector<kfd_criu_device_bucket> devices(arguments.num_devices);
    std::vector<kfd_criu_bo_bucket> buffers(arguments.num_bos);
    std::vector<std::byte> data(arguments.priv_data_size);
    arguments.devices = reinterpret_cast<std::uint64_t>(devices.data());
    arguments.bos = reinterpret_cast<std::uint64_t>(buffers.data());
    arguments.priv_data = reinterpret_cast<std::uint64_t>(data.data());
    arguments.op = KFD_CRIU_OP_CHECKPOINT;
    kfd.call(AMDKFD_IOC_CRIU_OP, arguments, "CHECKPOINT");
    arguments.op = KFD_CRIU_OP_UNPAUSE;
    kfd.call(AMDKFD_IOC_CRIU_OP, arguments, "UNPAUSE");
    std::vector<int> found;
    for (const kfd_criu_bo_bucket& buffer : buffers)
        if (buffer.dmabuf_fd != KFD_INVALID_FD)
            found.push_back(static_cast<int>(buffer.dmabuf_fd));
    return found;
}

// Before Linux 6.8 each export of a compute buffer made another DMA-BUF (amdgpu_amdkfd_gpuvm.c).
void check_exports(const gpu::Kfd& kfd, int version) {
    const gpu::Memory memory = kfd.allocate(kfd.gpus()[0], gpu::kPage, gpu::kVisibleVram);
    const std::vector<int> first = exports(kfd);
    const std::vector<int> second = exports(kfd);
    gpu::expect(first.size() == 1 && second.size() == 1, "a checkpoint gives too many DMA-BUFs, or too few");
    gpu::expect((inode_of(first[0]) == inode_of(second[0])) == (version >= 608),
                "two exports of a compute buffer are of the wrong DMA-BUFs");
    for (const int fd : {first[0], second[0]})
        close(fd);
    ExportDmabuf arguments{memory.handle, O_CLOEXEC, 0};
    const int result = kfd.attempt(kExportDmabuf, arguments);
    gpu::expect((result == 0) == (version >= 604), "EXPORT_DMABUF gives errno " + std::to_string(result));
    if (result == 0)
        close(static_cast<int>(arguments.dmabuf_fd));
    kfd.unmap(memory, {kfd.gpus()[0].id});
    kfd.free(memory);
}

// Checkpoints need capabilities in the initial user namespace: the driver calls capable(), not ns_capable().
void check_rights() {
    const pid_t child = gpu::require(fork(), "fork");
    if (child == 0) {
        if (unshare(CLONE_NEWUSER) != 0)
            _exit(2);
        const int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
        kfd_ioctl_criu_args arguments{};
        arguments.op = KFD_CRIU_OP_PROCESS_INFO;
        _exit(fd >= 0 && ioctl(fd, AMDKFD_IOC_CRIU_OP, &arguments) == -1 && errno == EACCES ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    gpu::expect(status == 0, "root of a user namespace may make checkpoints");
}

// GEM_LIST_HANDLES (amdgpu_gem.c, Linux 6.18) returns alignments in pages; GEM_CREATE takes bytes.
void check_handles(const gpu::Render& render, int version) {
    constexpr std::uint64_t kAlignment = 16 * gpu::kPage;
    const gpu::Buffer buffer = render.create(gpu::kPage, AMDGPU_GEM_DOMAIN_GTT, 0, kAlignment);
    std::array<ListEntry, 8> entries{};
    ListHandles list{reinterpret_cast<std::uint64_t>(entries.data()), entries.size(), 0};
    expect_errno(render.attempt(kListHandles, &list), version >= 618 ? 0 : EINVAL, "GEM_LIST_HANDLES");
    if (version >= 618) {
        gpu::expect(list.count == 1 && entries[0].handle == buffer.handle, "GEM_LIST_HANDLES lists something else");
        gpu::expect(entries[0].alignment == 16, "GEM_LIST_HANDLES has an alignment of " +
                                                    std::to_string(entries[0].alignment) + ", which isn't in pages");
    }
    std::array<std::uint64_t, 8> mappings{};
    GemOp op{buffer.handle, kGetMappingInfo, reinterpret_cast<std::uint64_t>(mappings.data()), 2, 0};
    expect_errno(render.attempt(kGemOp, &op), version >= 618 ? 0 : EINVAL, "GEM_OP about mappings");
    gpu::expect(version < 618 || op.count == 0, "a buffer that isn't mapped has mappings");
    // Linux 6.18.36 removed this ioctl.
    gpu::expect(render.change_handle(buffer.handle, 77) != 0, "there is GEM_CHANGE_HANDLE");
    render.close_handle(buffer.handle);
}

// Buffers that are always valid in one address space can't be exported: amdgpu_gem_prime_export() of all versions.
void check_private(const gpu::Render& render) {
    const gpu::Buffer buffer = render.create(gpu::kPage, AMDGPU_GEM_DOMAIN_GTT, AMDGPU_GEM_CREATE_VM_ALWAYS_VALID);
    std::vector<std::byte> memory(3 * gpu::kPage);
    const auto start = (reinterpret_cast<std::uintptr_t>(memory.data()) + gpu::kPage - 1) / gpu::kPage * gpu::kPage;
    const gpu::Buffer user = render.userptr({reinterpret_cast<std::byte*>(start), gpu::kPage});
    for (const gpu::Buffer* each : {&buffer, &user}) {
        drm_prime_handle arguments{};
        arguments.handle = each->handle;
        arguments.flags = O_CLOEXEC;
        expect_errno(render.attempt(DRM_IOCTL_PRIME_HANDLE_TO_FD, &arguments), EPERM, "an export of a private buffer");
    }
    drm_amdgpu_gem_mmap map{};
    map.in.handle = user.handle;
    expect_errno(render.attempt(DRM_IOCTL_AMDGPU_GEM_MMAP, &map), EPERM, "GEM_MMAP of memory of the process");
    // The kernel refuses addresses in the hole between the halves (amdgpu_gem_va_ioctl()).
    drm_amdgpu_gem_va hole{};
    hole.handle = buffer.handle;
    hole.operation = AMDGPU_VA_OP_MAP;
    hole.flags = AMDGPU_VM_PAGE_READABLE;
    hole.va_address = std::uint64_t{1} << 47;
    hole.map_size = gpu::kPage;
    expect_errno(render.attempt(DRM_IOCTL_AMDGPU_GEM_VA, &hole), EINVAL, "an address in the hole");
    render.close_handle(buffer.handle);
    render.close_handle(user.handle);
}

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [&](gpu::Subject&) {
        const int version = argc > 2 ? std::atoi(argv[2]) : 618;
        check_rights();
        const gpu::Kfd kfd;
        check_acquire(kfd, gpu::nodes().at(0).render_path());
        check_mappings(kfd);
        check_exports(kfd, version);
        const gpu::Render render(gpu::nodes().at(0).render_path());
        check_handles(render, version);
        check_private(render);
    });
}
