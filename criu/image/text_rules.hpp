// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

/// Checks for texts of images that become names of files, parts of commands, or input of other programs. Each check
/// allows a list of characters, and accepts all texts of criu and CRIU 4.2. A damaged or forged text can only change
/// one name or number.
namespace criu {

/// Returns true for the id of a dump: hexadecimal digits and dashes, 1 to 36 bytes. The id becomes a part of a table
/// name in commands of nft.
[[nodiscard]] bool isRunId(std::string_view text) noexcept;

/// Returns true for a name that the kernel accepts for a network device (dev_valid_name()). The name has 1 to 15 bytes
/// without blanks, '/' and ':', and isn't "." or "..". Returns false for control characters, which the kernel accepts.
[[nodiscard]] bool isDeviceName(std::string_view text) noexcept;

/// Returns true for the kinds of network devices that criu describes by the kernel's attributes, or that have none,
/// such as "vlan" and "dummy". The kernel may load a module with this name.
[[nodiscard]] bool isPlainDeviceKind(std::string_view text) noexcept;

/// Returns true for a cgroup controller, for "" (the unified hierarchy), or for "name=" and a hierarchy name
/// (cgroup1_parse_param()). `known(text)` must return true if the kernel has this controller.
template <typename Known>
[[nodiscard]] bool isController(std::string_view text, Known&& known);

/// Returns true for the path of a cgroup below the root of its hierarchy. The path consists of names with single
/// slashes between them, and may begin with a slash. "" and "/" are the root.
[[nodiscard]] bool isGroupPath(std::string_view text) noexcept;

/// Returns true for a path of a cgroup relative to another cgroup: one or more names with single slashes between them.
[[nodiscard]] bool isGroupBelow(std::string_view text) noexcept;

/// Returns true for the value of a network sysctl as text: numbers or addresses with blanks.
[[nodiscard]] bool isSettingValue(std::string_view text) noexcept;

/// Returns true for the name of a hierarchy without controllers: the text after "name=".
[[nodiscard]] bool isHierarchyName(std::string_view text) noexcept;

template <typename Known>
bool isController(std::string_view text, Known&& known) {
    constexpr std::string_view kNamed = "name=";
    if (text.starts_with(kNamed))
        return isHierarchyName(text.substr(kNamed.size()));
    return text.empty() || known(text);
}

}  // namespace criu
