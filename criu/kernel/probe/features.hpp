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

/// Features of the kernel and its tools that depend on version, configuration and privileges.
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
    // Features without a name for `check --feature`.
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

/// Form of the `check` command that reports a feature.
enum class CheckClass : std::uint8_t {
    Extra,         ///< check --extra (and --all)
    Experimental,  ///< check --experimental (and --all)
    ByName,        ///< check --feature NAME only
    Internal,      ///< none
};

struct FeatureInfo {
    Feature feature;
    /// Name for `check --feature` and the cache file.
    std::string_view name;
    CheckClass check;
    /// False for tools, which may change without a reboot; the cache file must not hold them.
    bool cached;
    /// Tries the feature. Leaves no trace; may fork and reap one child. Throws or returns false if it can't find out.
    bool (*probe)();
    /// Effect of a missing feature, for messages.
    std::string_view lack;
    /// Use of the feature, for `check --feature list`; empty for Internal.
    std::string_view purpose = {};
};

/// Returns all features, in the order of the enumeration.
[[nodiscard]] std::span<const FeatureInfo, kFeatures> featureTable() noexcept;

/// Features of the running system. The first query of a feature probes it and stores the result. A file keeps found
/// features for later runs (see feature_cache.hpp).
/// A missing feature is probed again in the next run, because a module may be loaded or a limit raised. Thread-safe.
class Features {
public:
    /// Uses the file that all runs of this user share.
    Features();
    /// Uses another file; none if the path is empty.
    explicit Features(std::string cachePath);
    /// Saves the cache.
    ~Features();
    Features(const Features&) = delete;
    Features& operator=(const Features&) = delete;

    /// Returns true if the feature works; false also if its probe fails. Never throws for a failed probe.
    [[nodiscard]] bool has(Feature feature);

    /// Throws Error with the missing feature's description.
    void require(Feature feature);

    /// Writes newly found features to the file. Ignores errors: the next run probes again.
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
