// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/base/mapping.hpp"
#include "criu/base/unique_fd.hpp"
#include "plugins/amdgpu/gpu.hpp"

namespace criu::amdgpu {

/// The only way to the drivers, so that something else can be put in their place. May be used by several threads.
class Kernel {
public:
    virtual ~Kernel() = default;

    virtual UniqueFd open(const std::string& path, int flags) = 0;
    /// 0, or the errno value. Interrupted calls are repeated.
    virtual int tryIoctl(int fd, unsigned long request, void* arguments) = 0;
    /// Opens a GPU to have its engine copy.
    virtual std::unique_ptr<Gpu> openGpu(std::uint32_t renderMinor) = 0;
    /// Loads what openGpu() needs, if it is there: to be called where the paths of this process don't lead elsewhere
    /// yet.
    virtual void loadLibraries() noexcept = 0;
    /// 0, or the errno value of mapping a page of a buffer without any access; nothing stays mapped.
    virtual int tryMap(int fd, std::uint64_t offset) = 0;
    virtual Mapping map(int fd, std::uint64_t offset, std::size_t size) = 0;
    /// Of an open file.
    virtual struct stat status(int fd) = 0;
    /// Device number of a special file; 0 if there is none.
    virtual dev_t device(const std::string& path) = 0;
    /// Where the topology is, as Topology::read() takes it.
    [[nodiscard]] virtual std::string topology() const = 0;

    /// Throws Error.
    void ioctl(int fd, unsigned long request, void* arguments, std::string_view what) {
        if (const int code = tryIoctl(fd, request, arguments); code != 0)
            throw Error(code, std::string(what));
    }
};

/// The running kernel.
std::unique_ptr<Kernel> makeKernel();

inline constexpr const char* kKfdPath = "/dev/kfd";
inline constexpr unsigned kDrmMajor = 226;

inline std::string renderPath(std::uint32_t minor) {
    return fmt::format("/dev/dri/renderD{}", minor);
}

}  // namespace criu::amdgpu
