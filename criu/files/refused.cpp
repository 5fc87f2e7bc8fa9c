// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/refused.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <iterator>

#include "criu/base/error.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/open_fd.hpp"
#include "images/fdinfo.hpp"

namespace criu::files {
namespace {

/// Type of files that criu recognizes, but can't dump.
struct Refusal {
    std::string_view what;
    std::string_view why;
    std::string_view hint;
};

struct NamedRefusal {
    std::string_view link;  ///< first characters of the text of the link /proc/PID/fd/N
    Refusal refusal;
};

constexpr std::string_view kClose = "have the program close it before the dump";
constexpr std::string_view kNoListener =
    "start the program without a listener (SECCOMP_RET_USER_NOTIF; listenerPath of a container's seccomp profile)";
constexpr std::string_view kMonitor = "use the virtual machine monitor's own snapshots";

constexpr NamedRefusal kNamed[] = {
    {"anon_inode:[userfaultfd]", {"a userfaultfd", "the kernel doesn't tell its ranges and waiting faults", kClose}},
    {"anon_inode:[perf_event]", {"a performance counter", "its configuration can't be read out", kClose}},
    {"anon_inode:bpf-prog",
     {"a BPF program", "its source and relocations can't be read out",
      "have the program pin and close it before the dump"}},
    {"anon_inode:bpf_link", {"a BPF link", "the program behind it can't be read out", kClose}},
    {"anon_inode:seccomp notify", {"a seccomp listener", "notifications in flight can't be read out", kNoListener}},
    {"anon_inode:[landlock-ruleset]", {"a landlock rule set", "its rules can't be read out", kClose}},
    {"anon_inode:kvm", {"a part of a virtual machine", "its state belongs to the processor", kMonitor}},
    {"anon_inode:[fscontext]",
     {"a file system that is being made (fsopen(2), fspick(2): mount(8), container runtimes)",
      "its settings can't be read out", "dump when the mount is complete"}},
    {"anon_inode:[vfio", {"a device that a program drives itself (VFIO)", "its state can't be read out", kClose}},
    {"anon_inode:[iommu", {"the memory map of a device (iommufd)", "it can't be read out", kClose}},
    {"anon_inode:sync_file", {"a fence of a device driver (graphics, video)", "what it waits for isn't told", kClose}},
    {"anon_inode:gpio", {"lines of a GPIO controller", "their state belongs to the hardware", kClose}},
    {"anon_inode:iio", {"a sensor (IIO)", "its state belongs to the hardware", kClose}},
    {"anon_inode:[infiniband", {"events of an RDMA device", "registered memory can't be read out", kClose}},
    {"anon_inode:[cachefiles]",
     {"the connection of a cache server (cachefiles) with the kernel", "requests in flight can't be read out", kClose}},
    {"/dmabuf:", {"a buffer of a device driver (DMA-BUF)", "it belongs to the device", kClose}},
};

constexpr Refusal kSecretMemory{"memory of memfd_secret(2)", "its purpose is that no other process can read it",
                                "have the program close and unmap it before the dump"};
constexpr decltype(statfs::f_type) kSecretMagic = 0x5345434d;  // SECRETMEM_MAGIC of <linux/magic.h>

constexpr int kAny = -1;
constexpr int kMiscellaneous = 10;

/// Refusal of character devices. `major` and `minor` are the device numbers of Documentation/admin-guide/devices.txt of
/// Linux; kAny matches all numbers.
struct DeviceRefusal {
    int major = kAny;
    int minor = kAny;
    Refusal refusal;
};

constexpr Refusal kVirtualDevice{"the kernel's half of a virtual device (vhost: QEMU, other machine monitors)",
                                 "its queues can't be read out", kMonitor};
constexpr Refusal kPlayedInput{"an input device that a program plays (uinput, uhid)", "its settings can't be read out",
                               kClose};

constexpr DeviceRefusal kCharacterDevices[] = {
    {kMiscellaneous,
     229,
     {"the connection of a FUSE server (sshfs, fuse-overlayfs, AppImages) with the kernel",
      "requests in flight can't be read out", "unmount its file system first, or dump without the server"}},
    {kMiscellaneous,
     203,
     {"the connection of a server of a character device (CUSE) with the kernel", "requests in flight can't be read out",
      kClose}},
    {kMiscellaneous,
     232,
     {"the kernel's interface to virtual machines (QEMU, Firecracker, Android's emulator)",
      "their state belongs to the processor", kMonitor}},
    {kMiscellaneous,
     196,
     {"the container of devices that a program drives itself (VFIO)", "its mappings can't be read out", kClose}},
    {kMiscellaneous, 238, kVirtualDevice},
    {kMiscellaneous, 241, kVirtualDevice},
    {kMiscellaneous, 223, kPlayedInput},
    {kMiscellaneous, 239, kPlayedInput},
    {13, kAny, {"an input device (keyboard, mouse, game controller)", "its settings can't be read out", kClose}},
    {14, kAny, {"a sound device (OSS)", "its state belongs to the hardware", kClose}},
    {21, kAny, {"a SCSI device (sg)", "requests in flight can't be read out", kClose}},
    {29, kAny, {"a frame buffer", "its state belongs to the hardware", kClose}},
    {81, kAny, {"a camera, or another video device", "its state belongs to the hardware", kClose}},
    {116, kAny, {"a sound device (ALSA: PipeWire, PulseAudio)", "its state belongs to the hardware", kClose}},
    {189, kAny, {"a USB device", "requests in flight can't be read out", kClose}},
    {231,
     kAny,
     {"an RDMA device (InfiniBand, RoCE, EFA)", "registered memory can't be read out",
      "start the program with NCCL_IB_DISABLE=1 (NCCL) or UCX_TLS=tcp (UCX), or give criu a plugin for it (--libdir)"}},
    {226,
     kAny,
     {"a graphics device (DRM)", "what it holds in memory can't be read out without its driver's plugin", kClose}},
};

const Refusal* findDevice(const struct stat& stat) {
    if (!S_ISCHR(stat.st_mode))
        return nullptr;
    const auto matches = [](int wanted, unsigned number) {
        return wanted == kAny || wanted == static_cast<int>(number);
    };
    const auto* const known =
        std::find_if(std::begin(kCharacterDevices), std::end(kCharacterDevices), [&](const DeviceRefusal& device) {
            return matches(device.major, major(stat.st_rdev)) && matches(device.minor, minor(stat.st_rdev));
        });
    return known != std::end(kCharacterDevices) ? &known->refusal : nullptr;
}

const Refusal* findNamed(const OpenFd& file) {
    const auto* const known = std::find_if(std::begin(kNamed), std::end(kNamed), [&](const NamedRefusal& named) {
        return file.link.starts_with(named.link);
    });
    if (known != std::end(kNamed))
        return &known->refusal;
    struct statfs fs {};
    if (file.link.starts_with("/secretmem") && ::fstatfs(file.copy.get(), &fs) == 0 && fs.f_type == kSecretMagic)
        return &kSecretMemory;
    return nullptr;
}

class RefusedKindDump final : public FileKindDump {
public:
    [[nodiscard]] bool claims(const OpenFd& file) const override { return findNamed(file) != nullptr; }

    void dump(const OpenFd& file, FileEntry&, FileDump&) override { refuseFile(file); }
};

[[noreturn]] void refuse(std::string text, std::string_view hint) {
    Error error(0, std::move(text));
    if (!hint.empty())
        error.addHint(hint);
    throw error;
}

}  // namespace

void refuseFile(const OpenFd& file) {
    const Refusal* known = findNamed(file);
    if (known == nullptr)
        known = findDevice(file.stat);
    if (known != nullptr)
        refuse(fmt::format("{} is {}, which can't be dumped: {}", file.describe(), known->what, known->why),
               known->hint);
    if (S_ISCHR(file.stat.st_mode) || S_ISBLK(file.stat.st_mode))
        refuse(fmt::format("{} is {} device {}:{}, whose driver may keep a state that the kernel doesn't show",
                           file.describe(), S_ISCHR(file.stat.st_mode) ? "character" : "block",
                           major(file.stat.st_rdev), minor(file.stat.st_rdev)),
               "have the program close it before the dump, or give criu a plugin for it (--libdir)");
    refuse(fmt::format("{} is of a kind that can't be dumped yet", file.describe()), kClose);
}

std::unique_ptr<FileKindDump> makeRefusedDump() {
    return std::make_unique<RefusedKindDump>();
}

}  // namespace criu::files
