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

/// Content of one network namespace in the images, except the devices.
class NetworkContent {
public:
    /// Reads the images of a namespace. `number`: namespace id. `empty`: true with --empty-ns; then only tracked
    /// connections are restored. Throws Error if the content can't be restored on this machine.
    NetworkContent(const ImageDir& images, std::uint32_t number, bool empty);

    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    /// Returns the name of the namespace if it was external at the dump, or null.
    [[nodiscard]] const char* externalName() const noexcept;
    [[nodiscard]] const std::vector<Record<NetDeviceEntry>>& devices() const noexcept { return devices_; }
    /// Returns the namespace ids of the network namespaces to which this namespace refers, each with its `nsid`.
    [[nodiscard]] std::vector<std::pair<std::uint32_t, std::int32_t>> ids() const;

    // Functions for a thread in the namespace, in the order of their calls. Devices are created after begin(), and
    // started after restoreFilters().

    /// Sets sysctls and the `nsid`s of other namespaces. `descriptorOf` returns a descriptor for a namespace id.
    void begin(const SettingsRule& rule, const std::function<int(std::uint32_t)>& descriptorOf) const;
    /// Restores packet filter rules. These contain the network lock of the dump, so this must precede everything that
    /// sends packets.
    void restoreFilters(const ImageDir& images) const;
    /// Restores addresses, routes, routing rules, neighbours and tracked connections.
    void finish(const ImageDir& images) const;

private:
    /// Throws Error if a needed program isn't installed, or if an image contains invalid input for a program.
    void requirePrograms(const ImageDir& images) const;

    std::uint32_t number_;
    std::optional<Record<NetnsEntry>> settings_;  ///< unset if nothing is restored in the namespace
    std::vector<Record<NetDeviceEntry>> devices_;
};

}  // namespace criu::namespaces
