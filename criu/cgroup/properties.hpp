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

/// Names of the files of a cgroup that hold its settings.
class PropertyTable {
public:
    using Names = std::vector<std::string>;

    /// Starts with the settings of the kernel's controllers.
    PropertyTable();

    /// Changes the table by the text of --cgroup-props: for each controller
    ///     "cpu":
    ///      - "strategy": "replace"
    ///      - "properties": ["cpu.shares", "cpu.cfs_period_us"]
    /// or with the strategy "merge". White space between the words doesn't matter. Throws Error.
    void change(std::string_view specification);

    /// True if a dump with this table, or with the default one, may store the property. A restore sets only such
    /// properties.
    [[nodiscard]] bool has(std::string_view name) const;

    /// Returns the properties of a controller of version 1, with or without "name=". The properties of common() are
    /// left out.
    [[nodiscard]] const Names& of(const std::string& controller) const;

    /// Returns the properties that all groups of a hierarchy have.
    [[nodiscard]] static const Names& common(bool unified);

    /// Returns the properties that controllers add to groups of the unified hierarchy. CRIU 4.2 doesn't know this list.
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

/// Reads a property of the open directory `group`. Lists of tasks read as empty. Returns nothing if the file doesn't
/// exist. Throws Error.
std::optional<Property> readProperty(int group, const std::string& name);

/// True for properties of a new group only: the kernel refuses them once the group has tasks or children, or refuses
/// tasks without them.
bool isEarly(std::string_view name) noexcept;
/// True for properties that stop the tasks. They are set last.
bool isFreezer(std::string_view name) noexcept;
/// Returns the value of a freezer property that thaws the tasks.
std::string_view runningValue(std::string_view freezer) noexcept;

/// Writes a property unless it has the value already. Doesn't set owner and mode. Throws Error.
void setProperty(int group, const std::string& name, const std::string& value);

}  // namespace criu::cgroup
