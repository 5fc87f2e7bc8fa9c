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

/// What is to be put into one network namespace, but for the devices themselves.
class NetworkContent {
public:
    /// Reads the images of a namespace (`number`: in images) and checks that all can be restored here; throws Error.
    /// `empty`: nothing is, but for tracked connections (--empty-ns), and the name of one that was external to the
    /// dump.
    NetworkContent(const ImageDir& images, std::uint32_t number, bool empty);

    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    /// The namespace was external to the dump and has this name; null: it wasn't.
    [[nodiscard]] const char* externalName() const noexcept;
    [[nodiscard]] const std::vector<Record<NetDeviceEntry>>& devices() const noexcept { return devices_; }
    /// Other namespaces that this one knows, by their numbers in images, and the ids that it has for them.
    [[nodiscard]] std::vector<std::pair<std::uint32_t, std::int32_t>> ids() const;

    // The steps, all by a thread that is in the namespace, in this order; devices are made after the first and
    // started after the second.

    /// Settings, and ids of other namespaces, which `descriptorOf` has by number.
    void begin(const SettingsRule& rule, const std::function<int(std::uint32_t)>& descriptorOf) const;
    /// Rules of the packet filter: they come first of what has to do with packets, because the dump's lock is among
    /// them.
    void restoreFilters(const ImageDir& images) const;
    /// Addresses, routes, rules, neighbours, tracked connections.
    void finish(const ImageDir& images) const;

private:
    /// That they are installed, and that the images have nothing for them but what they take.
    void requirePrograms(const ImageDir& images) const;

    std::uint32_t number_;
    std::optional<Record<NetnsEntry>> settings_;  ///< empty: the namespace is to be
    std::vector<Record<NetDeviceEntry>> devices_;
};

}  // namespace criu::namespaces
