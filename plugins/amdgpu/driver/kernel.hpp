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

/// Interface through which criu calls GPU drivers. Unit tests replace it. Several threads may use one object.
class Kernel {
public:
    virtual ~Kernel() = default;

    virtual UniqueFd open(const std::string& path, int flags) = 0;
    /// Calls ioctl(2). Returns 0 or the errno. Repeats interrupted calls.
    virtual int tryIoctl(int fd, unsigned long request, void* arguments) = 0;
    /// Opens a GPU so that criu can copy by its copy engine.
    virtual std::unique_ptr<Gpu> openGpu(std::uint32_t renderMinor) = 0;
    /// Loads the libraries that openGpu() needs, if they are installed. Call it before a change of the root or mount
    /// namespace.
    virtual void loadLibraries() noexcept = 0;
    /// Maps a page of a buffer without access rights, and unmaps it. Returns 0 or the errno.
    virtual int tryMap(int fd, std::uint64_t offset) = 0;
    virtual Mapping map(int fd, std::uint64_t offset, std::size_t size) = 0;
    /// Returns the status of an open file.
    virtual struct stat status(int fd) = 0;
    /// Returns the device number of a special file; 0 if it doesn't exist.
    virtual dev_t device(const std::string& path) = 0;
    /// Returns the processors near a GPU, as sysfs lists them ("0-7,16"); empty if the kernel doesn't show them.
    [[nodiscard]] virtual std::string nearCpus(std::uint32_t renderMinor) = 0;
    /// Returns the path from which Topology::read() reads the topology.
    [[nodiscard]] virtual std::string topology() const = 0;

    /// Calls ioctl(2). Throws Error with the text `what` unless it succeeds.
    void ioctl(int fd, unsigned long request, void* arguments, std::string_view what) {
        if (const int code = tryIoctl(fd, request, arguments); code != 0)
            throw Error(code, std::string(what));
    }
};

/// Creates the interface to the running kernel.
std::unique_ptr<Kernel> makeKernel();

inline constexpr const char* kKfdPath = "/dev/kfd";
inline constexpr unsigned kDrmMajor = 226;

inline std::string renderPath(std::uint32_t minor) {
    return fmt::format("/dev/dri/renderD{}", minor);
}

}  // namespace criu::amdgpu
