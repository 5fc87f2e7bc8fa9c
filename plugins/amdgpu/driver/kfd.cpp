// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/driver/kfd.hpp"

#include <cstring>

namespace criu::amdgpu {
namespace {

constexpr std::uint32_t kMajor = 1;
constexpr std::uint32_t kFirstMinor = 8;  // first version with AMDKFD_IOC_CRIU_OP

/// Limit above the private data of any process, which protects criu against a broken driver or image.
constexpr std::uint64_t kMaxPrivateData = std::uint64_t{1} << 30;
constexpr std::uint32_t kMaxBuffers = 1U << 22;

constexpr const char* kUnpauseText = "let the queues of the process go on (KFD_CRIU_OP_UNPAUSE)";

/// Returns a valid pointer for an empty vector, since the driver refuses null pointers.
template <typename T>
std::uint64_t address(std::vector<T>& values) {
    values.reserve(1);
    return reinterpret_cast<std::uint64_t>(values.data());
}

}  // namespace

bool hasContent(const uapi::KfdBuffer& buffer) noexcept {
    return (buffer.flags & (uapi::kKfdVram | uapi::kKfdGtt)) != 0;
}

void Kfd::requireCriu() const {
    if (const std::uint32_t minor = minorVersion(); minor < kFirstMinor)
        fail("the compute driver's interface is {}.{}, checkpoints need {}.{}", kMajor, minor, kMajor, kFirstMinor);
}

std::uint32_t Kfd::minorVersion() const {
    uapi::KfdVersion version{};
    kernel_.ioctl(fd_, uapi::kKfdGetVersion, &version, "ask the compute driver for its version");
    if (version.major != kMajor)
        fail("the compute driver's interface is {}.{}, {}.{} or later is known", version.major, version.minor, kMajor,
             kFirstMinor);
    return version.minor;
}

bool Kfd::allowsXnack() const {
    uapi::KfdXnackMode mode{1};
    // EPERM: a GPU lacks XNACK, or the kernel has no shared virtual memory (kfd_ioctl_set_xnack_mode() of
    // kfd_chardev.c, Linux 5.14 to 7.3).
    if (const int code = kernel_.tryIoctl(fd_, uapi::kKfdSetXnackMode, &mode); code != 0)
        return code != EPERM;
    mode.enabled = 0;
    (void)kernel_.tryIoctl(fd_, uapi::kKfdSetXnackMode, &mode);
    return true;
}

std::optional<std::uint32_t> Kfd::privateVersion() const {
    KfdProcess own;
    KfdState state;
    try {
        own = pause();
    } catch (const Error&) {
        return std::nullopt;
    }
    try {
        state = checkpoint(own);
    } catch (const Error&) {
        (void)unpauseLeftOver();
        return std::nullopt;
    }
    unpause();
    std::uint32_t version = 0;
    if (state.privateData.size() < sizeof(version))
        return std::nullopt;
    std::memcpy(&version, state.privateData.data(), sizeof(version));
    return version;
}

KfdProcess Kfd::pause() const {
    uapi::KfdCriu args{};
    args.op = uapi::CriuOp::ProcessInfo;
    if (const int code = kernel_.tryIoctl(fd_, uapi::kKfdCriu, &args); code != 0) {
        Error error(code, "stop the queues of the process (KFD_CRIU_OP_PROCESS_INFO)");
        // A queue didn't stop in time (unmap_queues_cpsch() of kfd_device_queue_manager.c, Linux 6.1).
        if (code == ETIME)
            error.addHint(
                "a queue didn't stop in time, so the driver has reset the GPU, and its programs have lost their "
                "queues: see the kernel's log");
        throw error;
    }
    return {static_cast<pid_t>(args.pid), args.deviceCount, args.bufferCount, args.objectCount, args.privateBytes};
}

KfdState Kfd::checkpoint(const KfdProcess& process) const {
    if (process.buffers > kMaxBuffers || process.privateBytes > kMaxPrivateData)
        fail("the driver reports {} buffers and {} bytes of private data", process.buffers, process.privateBytes);
    KfdState state;
    state.devices.resize(process.devices);
    state.buffers.resize(process.buffers);
    state.objects = process.objects;
    state.privateData.resize(process.privateBytes);
    for (uapi::KfdBuffer& buffer : state.buffers)
        buffer.dmabufFd = kNoDmabuf;

    uapi::KfdCriu args{};
    args.op = uapi::CriuOp::Checkpoint;
    args.pid = static_cast<std::uint32_t>(process.pid);
    args.devices = address(state.devices);
    args.buffers = address(state.buffers);
    args.privateData = address(state.privateData);
    args.privateBytes = process.privateBytes;
    args.deviceCount = process.devices;
    args.bufferCount = process.buffers;
    args.objectCount = process.objects;
    kernel_.ioctl(fd_, uapi::kKfdCriu, &args, "read the state of the process (KFD_CRIU_OP_CHECKPOINT)");
    return state;
}

void Kfd::unpause() const {
    if (!unpauseLeftOver())
        failWith(EINVAL, "{}", kUnpauseText);
}

bool Kfd::unpauseLeftOver() const {
    uapi::KfdCriu args{};
    args.op = uapi::CriuOp::Unpause;
    const int code = kernel_.tryIoctl(fd_, uapi::kKfdCriu, &args);
    if (code != 0 && code != EINVAL)
        failWith(code, "{}", kUnpauseText);
    return code == 0;
}

void Kfd::restore(KfdState& state) const {
    for (uapi::KfdBuffer& buffer : state.buffers)
        buffer.dmabufFd = kNoDmabuf;
    uapi::KfdCriu args{};
    args.op = uapi::CriuOp::Restore;
    args.devices = address(state.devices);
    args.buffers = address(state.buffers);
    args.privateData = address(state.privateData);
    args.privateBytes = state.privateData.size();
    args.deviceCount = static_cast<std::uint32_t>(state.devices.size());
    args.bufferCount = static_cast<std::uint32_t>(state.buffers.size());
    args.objectCount = state.objects;
    const int code = kernel_.tryIoctl(fd_, uapi::kKfdCriu, &args);
    if (code == 0)
        return;
    if (code == EINVAL && state.buffers.empty() && state.objects == 0) {
        acquireAddressSpaces(state);
        return;
    }
    Error error(code, fmt::format("make {} buffers and {} objects on {} GPUs (KFD_CRIU_OP_RESTORE)",
                                  state.buffers.size(), state.objects, state.devices.size()));
    // The hardware queue is in use (allocate_sdma_queue() of kfd_device_queue_manager.c).
    if (code == EBUSY)
        error.addHint(
            "an SDMA queue of the process needs the hardware queue that it had, and another process has that: end that "
            "one, or choose another GPU by --gpu-map");
    throw error;
}

/// Creates the address spaces of the process on its GPUs. A process without buffers and objects has no other state.
/// Before Linux 6.18, the driver refuses to restore such a process (criu_restore() of kfd_chardev.c).
void Kfd::acquireAddressSpaces(const KfdState& state) const {
    for (const uapi::KfdDevice& device : state.devices) {
        if (device.userGpuId != device.actualGpuId)
            fail(
                "the process has no GPU memory, and this driver restores such a process only on GPUs with the same ids "
                "({:#06x} would become {:#06x}); Linux 6.18 has no such limit",
                device.userGpuId, device.actualGpuId);
        uapi::KfdAcquireVm args{device.drmFd, device.actualGpuId};
        kernel_.ioctl(fd_, uapi::kKfdAcquireVm, &args, fmt::format("use GPU {:#06x}", device.actualGpuId));
    }
}

bool Kfd::resume(HostPid pid) const {
    uapi::KfdCriu args{};
    args.op = uapi::CriuOp::Resume;
    args.pid = static_cast<std::uint32_t>(pid.value);
    const int code = kernel_.tryIoctl(fd_, uapi::kKfdCriu, &args);
    if (code != 0 && code != ESRCH && code != EINVAL)
        failWith(code, "start the queues of process {} (KFD_CRIU_OP_RESUME)", pid);
    return code == 0;
}

}  // namespace criu::amdgpu
