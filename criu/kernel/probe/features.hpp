// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace criu::kernel {

/// What a kernel (or the tools beside it) may be able to do, depending on its version, configuration and our
/// privileges.
enum class Feature : std::uint8_t {
    MountIdInFdinfo,
    DirtyTracking,
    AioRemap,
    TimerfdTicks,
    Tun,
    TunNetNs,
    UserNs,
    LocksInFdinfo,
    SeccompSuspend,
    SeccompFilters,
    LoginUid,
    CgroupNs,
    Autofs,
    TcpHalfClosed,
    CompatTasks,
    Uffd,
    UffdNonCooperative,
    MapVdso,
    SocketNetNs,
    UnixSocketFile,
    RawSockets,
    NetNsId,
    LinkNetNsId,
    KcmpEpoll,
    TimeNs,
    ExternalNetNs,
    Clone3SetTid,
    NewIfIndex,
    Nftables,
    IptablesLegacy,
    PidfdStore,
    NsPid,
    AppArmorStacking,
    NftablesConcat,
    SocketBufferLock,
    MemfdHugetlb,
    MoveMountSetGroup,
    Openat2,
    RseqConfiguration,
    Ipv6Freebind,
    PagemapScan,
    TimerRestoreIds,
    OverlayfsMaps,
    Breakpoints,
    PagemapScanGuards,
    // Those below have no name for `check --feature`.
    MadviseGuard,
    MapDroppable,
    MemfdCreate,
    ThpDisable,
    PrctlMmMap,
    CloseRange,
    InotifyNextWd,
    MembarrierRegistrations,
    MountApi,
    ShadowStack,
    RawDiag,
};
inline constexpr std::size_t kFeatures = static_cast<std::size_t>(Feature::RawDiag) + 1;

/// Which form of the `check` command looks at a feature.
enum class CheckClass : std::uint8_t {
    Extra,         ///< check --extra (and --all)
    Experimental,  ///< check --experimental (and --all)
    ByName,        ///< check --feature NAME only
    Internal,      ///< no form
};

struct FeatureInfo {
    Feature feature;
    /// For `check --feature`, and in the cache file.
    std::string_view name;
    CheckClass check;
    /// Tools beside the kernel may change without a reboot: never taken from the cache file.
    bool cached;
    /// Tries it out. Leaves nothing behind; may fork and reap one child. A probe that can't find out throws or returns
    /// false.
    bool (*probe)();
    /// What is the matter without it.
    std::string_view lack;
};

/// All features, in the order of the enumeration.
[[nodiscard]] std::span<const FeatureInfo, kFeatures> featureTable() noexcept;

/// The feature `check --feature` means by this name; nothing for unknown and internal names.
[[nodiscard]] std::optional<Feature> featureByName(std::string_view name) noexcept;

/// Answers which features there are. A feature is probed when first asked for, and remembered: here, and if found, in a
/// file that later runs read (see FeatureCache). What wasn't found is tried again by the next run, since a module may
/// be loaded or a limit lifted meanwhile. May be used by several threads.
class Features {
public:
    /// Uses the file all runs of this user share.
    Features();
    /// Uses another file; none if empty.
    explicit Features(std::string cachePath);
    /// Saves.
    ~Features();
    Features(const Features&) = delete;
    Features& operator=(const Features&) = delete;

    /// Never throws for a probe that fails: that is a no.
    [[nodiscard]] bool has(Feature feature);

    /// Throws Error that says what is lacking.
    void require(Feature feature);

    /// Writes what was newly found to the file. Errors are ignored: the next run will probe again.
    void save() noexcept;

private:
    enum class State : std::uint8_t { Unknown, No, Yes };

    void load();

    std::mutex mutex_;
    std::string cachePath_;
    std::string key_;
    bool loaded_ = false;
    bool news_ = false;
    std::array<State, kFeatures> states_{};
};

}  // namespace criu::kernel
