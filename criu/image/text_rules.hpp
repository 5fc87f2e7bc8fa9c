// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

/// What texts of images may hold that become names of files, commands, or input of other programs. Each rule is a list
/// of what is allowed: whatever a dump of this program or of CRIU 4.2 writes passes, and nothing with which a damaged
/// or forged image could reach beyond the one name or number that the text stands for.
namespace criu {

/// The id of a dump: hexadecimal digits and dashes, 36 bytes at most. It is part of the name of a table in nft's
/// commands.
[[nodiscard]] bool isRunId(std::string_view text) noexcept;

/// A name that the kernel takes for a network device (dev_valid_name()): 1 to 15 bytes other than blanks, '/' and ':',
/// not
/// "." or "..". Control characters, which the kernel would take, are none.
[[nodiscard]] bool isDeviceName(std::string_view text) noexcept;

/// What a device is made as, if it has nothing of its own but what all devices have. The kernel may load a module of
/// this name.
[[nodiscard]] bool isPlainDeviceKind(std::string_view text) noexcept;

/// A controller of cgroups, "name=" and a name as the kernel takes it for a hierarchy without controllers
/// (cgroup1_parse_param()), or "" for the unified hierarchy. `known`: whether the kernel has a controller of that name.
template <typename Known>
[[nodiscard]] bool isController(std::string_view text, Known&& known);

/// The path of a cgroup below the root of its hierarchy: names between single slashes, one of which may be in front; ""
/// and
/// "/" are the root.
[[nodiscard]] bool isGroupPath(std::string_view text) noexcept;

/// One or more such names: what a group is called below another.
[[nodiscard]] bool isGroupBelow(std::string_view text) noexcept;

/// A value of a setting of the network, as text: numbers, an address, or blanks between such.
[[nodiscard]] bool isSettingValue(std::string_view text) noexcept;

/// The name of a hierarchy without controllers, behind "name=".
[[nodiscard]] bool isHierarchyName(std::string_view text) noexcept;

template <typename Known>
bool isController(std::string_view text, Known&& known) {
    constexpr std::string_view kNamed = "name=";
    if (text.starts_with(kNamed))
        return isHierarchyName(text.substr(kNamed.size()));
    return text.empty() || known(text);
}

}  // namespace criu
