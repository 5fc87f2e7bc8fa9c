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

/// Features of the kernel and of tools. They depend on version, configuration and privileges.
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
    // The features below have no name for `check --feature`.
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

/// Option of the `check` command by which criu reports a feature.
enum class CheckClass : std::uint8_t {
    Extra,         ///< check --extra and check --all
    Experimental,  ///< check --experimental and check --all
    ByName,        ///< check --feature NAME
    Internal,      ///< never reported by `check`
};

struct FeatureInfo {
    Feature feature;
    /// Name for `check --feature` and for the cache file.
    std::string_view name;
    CheckClass check;
    /// False for tools, because a tool may change without a reboot; the cache file must not contain such features.
    bool cached;
    /// Probe of the feature. Changes nothing permanently; may fork and reap one child. Returns false or throws Error if
    /// the feature doesn't work.
    bool (*probe)();
    /// Text for messages: what criu can't do without the feature.
    std::string_view lack;
    /// Use of the feature, for `check --feature list`; empty for Internal.
    std::string_view purpose = {};
};

/// Returns the table of all features, in the order of the enumeration.
[[nodiscard]] std::span<const FeatureInfo, kFeatures> featureTable() noexcept;

/// Features of the running system. The first query of a feature probes it and stores the result. A file stores found
/// features for later runs (feature_cache.hpp). It doesn't store missing features: the next run probes them again,
/// because the user may have loaded a module or raised a limit. Several threads may use one object.
class Features {
public:
    /// Uses the cache file at featureCachePath(), which all runs of this user share.
    Features();
    /// `cachePath`: path of the cache file; if it is empty, criu uses no cache file.
    explicit Features(std::string cachePath);
    /// Calls save().
    ~Features();
    Features(const Features&) = delete;
    Features& operator=(const Features&) = delete;

    /// Returns true if the feature works; false if it is missing or its probe fails. Never throws.
    [[nodiscard]] bool has(Feature feature);

    /// If the feature is missing, throws Error with the description of the feature.
    void require(Feature feature);

    /// Writes newly found features to the cache file. Ignores errors, because the next run can probe again.
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
