// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "criu/image/image_dir.hpp"
#include "criu/namespaces/net/network_settings.hpp"
#include "images/netdev.hpp"

namespace criu::namespaces {

/// The content of one network namespace, except the devices themselves.
class NetworkContent {
public:
    /// Reads the images of a namespace (`number`: namespace id) and throws Error if they can't be restored here.
    /// `empty`: reads only the name of an external namespace, and restores only tracked connections (--empty-ns).
    NetworkContent(const ImageDir& images, std::uint32_t number, bool empty);

    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    /// Returns the name of the namespace if it was external to the dump; null if it wasn't.
    [[nodiscard]] const char* externalName() const noexcept;
    [[nodiscard]] const std::vector<Record<NetDeviceEntry>>& devices() const noexcept { return devices_; }
    /// Returns the namespace ids of the network namespaces that this one knows, each with its `nsid`.
    [[nodiscard]] std::vector<std::pair<std::uint32_t, std::int32_t>> ids() const;

    // Steps, in this order, from a thread in the namespace. Devices are created after begin() and started after
    // restoreFilters().

    /// Sets sysctls and the `nsid`s of other namespaces; `descriptorOf` returns the descriptor for a namespace id.
    void begin(const SettingsRule& rule, const std::function<int(std::uint32_t)>& descriptorOf) const;
    /// Restores packet filter rules. They precede everything that sends packets, because the dump's network lock is one
    /// of them.
    void restoreFilters(const ImageDir& images) const;
    /// Restores addresses, routes, rules, neighbours and tracked connections.
    void finish(const ImageDir& images) const;

private:
    /// Checks that the needed programs are installed, and that the images contain only valid input for them.
    void requirePrograms(const ImageDir& images) const;

    std::uint32_t number_;
    std::optional<Record<NetnsEntry>> settings_;  ///< empty: nothing is restored in the namespace
    std::vector<Record<NetDeviceEntry>> devices_;
};

}  // namespace criu::namespaces
