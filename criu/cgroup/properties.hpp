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

/// Which files of a cgroup hold its settings.
class PropertyTable {
public:
    using Names = std::vector<std::string>;

    /// What is known of the kernel's controllers.
    PropertyTable();

    /// Changes it as --cgroup-props says: for each controller
    ///     "cpu":
    ///      - "strategy": "replace"
    ///      - "properties": ["cpu.shares", "cpu.cfs_period_us"]
    /// or with the strategy "merge". White space may be anywhere between the words. Throws Error.
    void change(std::string_view specification);

    /// Whether a dump with this table may write the property down, or one without any changes: what a restore sets.
    [[nodiscard]] bool has(std::string_view name) const;

    /// Of a controller of version 1, with or without "name="; without those all controllers have.
    [[nodiscard]] const Names& of(const std::string& controller) const;

    /// What all groups of a hierarchy have.
    [[nodiscard]] static const Names& common(bool unified);

    /// What groups of the unified hierarchy may have besides; CRIU 4.2 doesn't know of these.
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

/// Reads a property of the group that is open as `group`. Lists of tasks read as empty. Nothing if there is no such
/// file. Throws Error.
std::optional<Property> readProperty(int group, const std::string& name);

/// Must be set when a group is fresh: it can't be once the group has tasks or children, or tasks can't enter without.
bool isEarly(std::string_view name) noexcept;
/// Stops the tasks, so it comes last.
bool isFreezer(std::string_view name) noexcept;
/// The value with which such a property lets the tasks run.
std::string_view runningValue(std::string_view freezer) noexcept;

/// Gives a property the value, unless it has it already. Owner and mode are the caller's matter. Throws Error.
void setProperty(int group, const std::string& name, const std::string& value);

}  // namespace criu::cgroup
