// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace criu::cgroup {

/// Table of the cgroup files that contain settings.
class PropertyTable {
public:
    using Names = std::vector<std::string>;

    /// Makes a table with the settings of the kernel's controllers.
    PropertyTable();

    /// Changes the table by the text of --cgroup-props. The text contains, for each controller,
    ///     "cpu":
    ///      - "strategy": "replace"
    ///      - "properties": ["cpu.shares", "cpu.cfs_period_us"]
    /// or the strategy "merge". White space between words is ignored. Throws Error.
    void change(std::string_view specification);

    /// Returns true if a dump with this table, or with the default table, may store the property. A restore sets only
    /// such properties.
    [[nodiscard]] bool has(std::string_view name) const;

    /// Returns the properties of a controller of version 1, without those of common(). The name may begin with "name=".
    [[nodiscard]] const Names& of(const std::string& controller) const;

    /// Returns the properties that all cgroups of a hierarchy have.
    [[nodiscard]] static const Names& common(bool unified);

    /// Returns the properties of controllers in the unified hierarchy. CRIU 4.2 doesn't know this list.
    [[nodiscard]] static const Names& unifiedControllers();

private:
    std::map<std::string, Names> names_;
};

struct Property {
    std::string name;
    std::string value;
    mode_t mode = 0;
    uid_t uid = 0;
    gid_t gid = 0;
};

/// Reads a property of the cgroup with the open directory `group`; nullopt if the file doesn't exist. A list of tasks
/// is returned as empty. Throws Error.
std::optional<Property> readProperty(int group, const std::string& name);

/// Returns true for a property that must be set in a new cgroup: the kernel refuses it when the cgroup has tasks or
/// children, or lets no task enter before it is set.
bool isEarly(std::string_view name) noexcept;
/// Returns true for a property that freezes the tasks. criu sets it last.
bool isFreezer(std::string_view name) noexcept;
/// Returns the value of a freezer property that thaws the tasks.
std::string_view runningValue(std::string_view freezer) noexcept;

/// Sets a property unless it has the value already. Doesn't set its owner and mode. Throws Error.
void setProperty(int group, const std::string& name, const std::string& value);

}  // namespace criu::cgroup
