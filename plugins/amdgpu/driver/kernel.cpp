// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/driver/kernel.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "plugins/amdgpu/driver/libdrm_gpu.hpp"
#include "plugins/amdgpu/topology.hpp"

namespace criu::amdgpu {
namespace {

/// Maximum number of retries: drivers return EAGAIN while another process uses a resource.
constexpr int kMaxRetries = 200;
constexpr useconds_t kPauseMicroseconds = 1000;

class RealKernel final : public Kernel {
public:
    UniqueFd open(const std::string& path, int flags) override {
        return UniqueFd(sys(::open(path.c_str(), flags | O_CLOEXEC), "open {}", path));
    }
    int tryIoctl(int fd, unsigned long request, void* arguments) override {
        for (int tries = 0; tries < kMaxRetries; ++tries) {
            if (::ioctl(fd, request, arguments) >= 0)
                return 0;
            if (errno != EINTR && errno != EAGAIN)
                return errno;
            if (errno == EAGAIN)
                ::usleep(kPauseMicroseconds);
        }
        return EAGAIN;
    }
    std::unique_ptr<Gpu> openGpu(std::uint32_t renderMinor) override {
        return gpus_.open(renderMinor, [&] { return open(renderPath(renderMinor), O_RDWR); });
    }
    void loadLibraries() noexcept override { loadLibdrm(); }
    int tryMap(int fd, std::uint64_t offset) override {
        void* const at = ::mmap(nullptr, kGpuPageSize, PROT_NONE, MAP_SHARED, fd, static_cast<off_t>(offset));
        if (at == MAP_FAILED)
            return errno;
        ::munmap(at, kGpuPageSize);
        return 0;
    }
    Mapping map(int fd, std::uint64_t offset, std::size_t size) override {
        void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
        if (at == MAP_FAILED)
            failErrno("map {} bytes of GPU memory", size);
        return {at, size};
    }
    struct stat status(int fd) override {
        struct stat status {};
        sys(::fstat(fd, &status), "look at descriptor {}", fd);
        return status;
    }
    dev_t device(const std::string& path) override {
        struct stat status {};
        return ::stat(path.c_str(), &status) == 0 && S_ISCHR(status.st_mode) ? status.st_rdev : 0;
    }
    [[nodiscard]] std::string nearCpus(std::uint32_t renderMinor) override {
        std::string list;
        std::getline(std::ifstream(fmt::format("/sys/class/drm/renderD{}/device/local_cpulist", renderMinor)), list);
        return list;
    }
    [[nodiscard]] std::string topology() const override { return Topology::kSysfs; }

private:
    LibdrmGpus gpus_;
};

}  // namespace

std::unique_ptr<Kernel> makeKernel() {
    return std::make_unique<RealKernel>();
}

}  // namespace criu::amdgpu
